// SPDX-License-Identifier: Apache-2.0
// A record of an exporter that sends requests over HTTP: made, read again, replaced.
#ifndef EXPORTERS_REQUEST_RECORD_H
#define EXPORTERS_REQUEST_RECORD_H

#include "exporters/http_exporter.h"

// raw becomes its data, compressed as the settings say; raw is emptied. How much is in it is the caller's to say. Worker
// thread.
enum err_code request_record_make(struct http_exporter *x, struct buf *raw, struct record **out,
                                  struct err *e) MUST_USE;
// The same of data that are in the exporter's compression already. They move into the record.
struct record *request_record_of(const struct http_exporter *x, struct buf *data, size_t raw_bytes);
// What is in it: borrowed from the record, or decompressed to *raw, which is empty.
enum err_code request_record_read(const struct record *r, struct buf *raw, struct bytes *out, struct err *e) MUST_USE;
// `to` takes the place of `from`, with others.
void request_record_inherit(struct record *to, const struct record *from, const struct verdict *refusal);

#endif
