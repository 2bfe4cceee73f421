// SPDX-License-Identifier: Apache-2.0
// Inside the exporter `pyroscope`: the series at hand, and how a record of it is made.
#ifndef EXPORTERS_PYROSCOPE_WRITER_H
#define EXPORTERS_PYROSCOPE_WRITER_H

#include "exporters/pyroscope_exporter.h"
#include "exporters/pyroscope_times.h"
#include "exporters/request_split.h"

// One pprof of a batch.
struct pyroscope_group {
    const struct batch *batch;
    const struct resource *resource;
    const struct scope *scope;
    uint32_t first, count;
};

static inline const struct profile *pyroscope_group_profile(const struct pyroscope_group *g)
{
    return &g->scope->profiles[g->first];
}

// One call of encode or replace, and the series at hand.
struct pyroscope_writer {
    struct request_splitter base;
    struct pyroscope_exporter *x;
    struct record_list *out;
    struct pyroscope_times times;
    int64_t now_nanos;
    const struct pyroscope_labels *labels;
    size_t label_bytes;
    uint64_t label_hash;
    enum pyroscope_api api;
    // Of replace.
    const struct record *replaced; // NULL = encode
    struct bytes query;
};

void pyroscope_writer_init(struct pyroscope_writer *w, struct exporter *self, struct record_list *out);
void pyroscope_writer_fini(struct pyroscope_writer *w);

// w->labels become those of the group; initialises *labels, whose fini is due in every case.
enum err_code pyroscope_writer_label(struct pyroscope_writer *w, const struct pyroscope_group *g,
                                     struct pyroscope_labels *labels, struct err *e) MUST_USE;
// Of labels that come from elsewhere: their hash and size. Borrowed.
void pyroscope_writer_take_labels(struct pyroscope_writer *w, const struct pyroscope_labels *labels);

// Times that are not known, or that nobody can have, are now.
int64_t pyroscope_writer_time(const struct pyroscope_writer *w, const struct profile *p);
int64_t pyroscope_end(int64_t time, const struct profile *p);

// The record of one pprof. ERR_LIMIT: it is too large, it would have *size_out bytes.
enum err_code pyroscope_write(struct pyroscope_writer *w, const struct pyroscope_group *g, struct record **out,
                              size_t *size_out, struct err *e) MUST_USE;
// The data become a record; NULL: there was no memory for them.
struct record *pyroscope_record_of(struct buf *data);
enum err_code pyroscope_no_memory(struct err *e);

// A JFR recording that is handed on; adds its record.
bool pyroscope_is_recording(const struct profile *p);
enum err_code pyroscope_add_recording(struct pyroscope_writer *w, const struct pyroscope_group *g,
                                      struct err *e) MUST_USE;

// As http_exporter_encoder.
enum err_code pyroscope_replace(struct exporter *self, const struct record *r, const struct verdict *refusal,
                                struct record_list *out, struct err *e) MUST_USE;

#endif
