// SPDX-License-Identifier: Apache-2.0
// The query of POST /ingest: app name with labels, times, sample rate, format.
#ifndef CODEC_PYROSCOPE_QUERY_H
#define CODEC_PYROSCOPE_QUERY_H

#include "codec/pyroscope.h"

enum pyroscope_body { // format=, before the body was looked at
    PYROSCOPE_BODY_UNSAID,
    PYROSCOPE_BODY_PPROF,
    PYROSCOPE_BODY_JFR,
    PYROSCOPE_BODY_FOLDED, // folded, groups
    PYROSCOPE_BODY_LINES,
    PYROSCOPE_BODY_TRIE,
    PYROSCOPE_BODY_TREE,
    PYROSCOPE_BODY_SPEEDSCOPE,
};

struct pyroscope_query {
    struct pyroscope_series series;  // texts lie in its labels' arena
    int64_t from_nanos, until_nanos; // since 1970; 0 = not said, or nothing that can be read as a time
    int64_t sample_rate;             // Hz; 0 = do not scale; 100 where absent, or not a whole number of 0 to 1e9
    bool has_sample_rate;            // it was said, and is such a number
    struct bytes units, aggregation_type;
    enum pyroscope_body format;
    struct bytes format_text; // as sent, of a format that is not known: UNSAID
    uint64_t
        repaired_times; // from or until in another unit than their digits tell, or that made no sense and were left out
};

// query: behind the '?', percent-encoded, '+' is a space; a '%' without two hex digits behind it stands for itself, and of
// a parameter that is there twice the first counts. now_nanos: for relative times and to judge the others.
// ERR_INVALID: what stands where in `name` ("name: no '}' for the '{' at character 12"); anything else is read leniently.
// ERR_MEMORY. fini is due in every case.
enum err_code pyroscope_query_parse(struct bytes query, int64_t now_nanos, struct pyroscope_query *out,
                                    struct err *e) MUST_USE;
void pyroscope_query_fini(struct pyroscope_query *q);

// "app{k=v,k2=v2}" on its own. App and label names may have any character but controls; a value runs to the next ',' or
// '}', whatever it holds, and an empty one is as good as none. What follows the '}' is left out, as servers do. The app may
// be empty where a label service_name or __name__ stands for it. Texts are borrowed from name.
enum err_code pyroscope_name_parse(struct bytes name, struct bytes *app_out, struct pyroscope_labels *labels,
                                   struct err *e) MUST_USE;
// Seconds, ms, us and ns are told apart by the number of digits, and where that makes no sense (1980 to tomorrow; now 0 =
// no tomorrow) by what does; YYYYMMDD; "now-1h", "-1h30m". 0 = nothing that makes sense. *repaired_out: neither empty nor
// what its digits tell.
int64_t pyroscope_time_parse(struct bytes text, int64_t now_nanos, bool *repaired_out);

#endif
