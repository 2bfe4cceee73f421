// SPDX-License-Identifier: Apache-2.0
// What an answer of a Pyroscope server means for a record.
#ifndef EXPORTERS_PYROSCOPE_ANSWER_H
#define EXPORTERS_PYROSCOPE_ANSWER_H

#include "net/http_client.h"
#include "pipeline/consumer.h"

struct pyroscope_request {
    const char *url; // its query may be long, or hold a key: it is not told
    const struct record *record;
    int64_t now_nanos; // since 1970, for Retry-After
};

struct pyroscope_judgement {
    struct verdict verdict;
    bool is_size;     // smaller parts may be taken
    bool is_doubtful; // tried again, but not for ever
};
struct pyroscope_judgement pyroscope_answer_judge(const struct pyroscope_request *request,
                                                  const struct http_response *response);

#endif
