// SPDX-License-Identifier: Apache-2.0
// A batch that is too large for one request becomes several. What cannot be cut any smaller is dropped, named in the log and
// counted.
#ifndef EXPORTERS_REQUEST_SPLIT_H
#define EXPORTERS_REQUEST_SPLIT_H

#include "exporters/request_size.h"

enum { REQUEST_MOST_IN_VAIN = 16 }; // times the whole: what requests that turn out too large may add up to

struct request_splitter {
    struct http_exporter *x;
    struct request_limit limit;
    // One request of a part. ERR_LIMIT: it would have *size_out bytes before compression, more than the limit.
    enum err_code (*encode)(const struct request_splitter *self, const struct batch *batch, struct record **out,
                            size_t *size_out, struct err *e);
};

// size: of the request of the whole that is too large; it is not tried again.
enum err_code request_split(const struct request_splitter *how, struct batch *whole, size_t size,
                            struct record_list *out, struct err *e) MUST_USE;

#endif
