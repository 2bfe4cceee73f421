// SPDX-License-Identifier: Apache-2.0
// Folded stacks and plain lines of /ingest: what codec/folded.h reads, with the meaning that the request tells.
#include "codec/pyroscope_text.h"

#include "codec/folded.h"

static enum err_code decode_text(struct bytes data, const struct pyroscope_meaning *m, bool no_counts,
                                 const struct decode_options *options, struct batch **out, struct decode_report *report,
                                 struct err *e)
{
    struct decode_options o = *options;
    o.folded = (struct folded_options){
        .sample_type = m->sample_type,
        .sample_unit = m->sample_unit,
        .period_type = m->period_type != NULL ? m->period_type : "",
        .period_unit = m->period_unit != NULL ? m->period_unit : "",
        .period = m->scales ? m->period : 0,
        .no_counts = no_counts,
        .blunt_counts = true,
    };
    return folded_decode(data, data, &o, out, report, e);
}

enum err_code pyroscope_folded_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                      const struct decode_options *options, struct batch **out,
                                      struct decode_report *report, struct err *e)
{
    return decode_text(data, meaning, false, options, out, report, e);
}

enum err_code pyroscope_lines_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                     const struct decode_options *options, struct batch **out,
                                     struct decode_report *report, struct err *e)
{
    return decode_text(data, meaning, true, options, out, report, e);
}
