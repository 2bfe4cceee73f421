// SPDX-License-Identifier: Apache-2.0
// A request to POST /ingest: the query that names the series, and the form of a JFR recording. A record of it is the query
// and the content type, each ended by a NUL, then the body.
#ifndef EXPORTERS_PYROSCOPE_UPLOAD_H
#define EXPORTERS_PYROSCOPE_UPLOAD_H

#include "base/buf.h"
#include "codec/pyroscope.h"

struct pyroscope_upload {
    const struct pyroscope_labels *labels; // of the series, each name once
    const char *format;                    // "pprof", "jfr"
    int64_t from_nanos, until_nanos;
    int64_t sample_rate;                  // Hz; 0 = not said
    struct bytes units, aggregation_type; // len 0 = not said
};

// "name=app%7Bregion%3Deu%7D&from=..." /ingest's names have no quoting: of the application's every character but
// [A-Za-z0-9_.-/] is '_' (then service_name has the whole of it), of a label's every one but [A-Za-z0-9_.], of a value ','
// and '}'. Of two labels that become one name the first stays. Labels with "__" in front are the server's own business, but
// for __session_id__; pyroscope_spy is spyName.
void pyroscope_upload_query(const struct pyroscope_upload *u, struct buf *out);

// The body with a recording, and its labels part if there is one. boundary_out: fit for the parts.
enum { PYROSCOPE_BOUNDARY_SIZE = 48 };
void pyroscope_upload_form(struct bytes jfr, struct bytes labels, char boundary_out[PYROSCOPE_BOUNDARY_SIZE],
                           struct buf *out);

struct pyroscope_upload_parts {
    const char *query, *content_type;
    struct bytes body;
};
void pyroscope_upload_begin(struct bytes query, const char *content_type, struct buf *out); // then the body
struct pyroscope_upload_parts pyroscope_upload_read(struct bytes record);

#endif
