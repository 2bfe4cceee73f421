// SPDX-License-Identifier: Apache-2.0
// The door of a server: asks an authenticator whether a request may come in, counts who may not, and tells each client's
// first failure and its recovery.
#ifndef RECEIVERS_SERVER_AUTH_H
#define RECEIVERS_SERVER_AUTH_H

#include "net/authenticator.h"
#include "net/http_server.h"
#include "pipeline/component.h"

struct server_auth;
struct server_attempt; // a request whose credentials only a worker can judge

// id: of the extension; protocol: "grpc", a label of the counter. At start. c must outlive it.
enum err_code server_auth_create(const struct component *c, const char *id, const char *protocol,
                                 struct server_auth **out, struct err *e) MUST_USE;
void server_auth_destroy(struct server_auth **a); // after the last attempt

// At the head of a request. SLOW gives *attempt_out instead of answer_out->attempt: the body may be taken, but whoever
// sends it is not known before server_attempt_verify.
enum auth_result server_auth_check(struct server_auth *a, const struct http_head *head, struct auth_answer *answer_out,
                                   struct server_attempt **attempt_out);
// The same for who only asks whether credentials are known: nothing is counted or told, also not by the attempt's verify,
// and a key that may not send is ACCEPTED too. key_type says what is.
enum auth_result server_auth_validate(struct server_auth *a, const struct http_head *head,
                                      struct auth_answer *answer_out, struct server_attempt **attempt_out);
// Worker thread. ACCEPTED or REFUSED; the attempt is gone.
enum auth_result server_attempt_verify(struct server_attempt **attempt, struct auth_answer *answer_out);
void server_attempt_forget(struct server_attempt **attempt); // may be NULL inside

#endif
