// SPDX-License-Identifier: Apache-2.0
// Trie and tree: records "length name value children" before their children, every number a varint.
//
// The names of the path to a record lie behind each other in one buffer. In a tree each is a frame; in a trie they are
// pieces of "root;...;leaf", so that the last frame may go on in a child. A frame becomes a location when the first value
// below it is met.
#include "base/mem.h"
#include "codec/frame_stack.h"
#include "codec/frame_sums.h"
#include "codec/frames.h"
#include "codec/pyroscope_text.h"
#include "codec/wire.h"

#include <inttypes.h>

enum { MAX_DEPTH = 1 << 20 }; // records and frames on the way to one

struct path_frame {
    size_t start, len; // of its name in the path's
    uint32_t location; // 0 = not known yet
};

// Where the path ends at one record.
struct path_end {
    size_t len, open; // the frame that begins at open goes on where the path does
    uint32_t frames;
};

struct parent {
    struct path_end end;
    uint64_t children; // to come
};

struct walk {
    struct wire_reader in;
    const struct pyroscope_meaning *meaning;
    struct decode_report *report;
    struct err *e;
    enum err_code code;
    bool splits; // a trie
    struct builder *builder;
    struct frame_stack stack;
    struct frame_sums sums;
    uint32_t max_samples;
    struct buf names;
    struct path_end end;
    struct path_frame *frames;
    struct parent *parents; // those with children to come
    size_t frame_capacity, parent_capacity;
    uint32_t depth; // of parents
    uint64_t record;
    size_t written, max_written; // bytes of names and frames of stacks so far: what the records save by sharing them
};

static bool fail_memory(struct walk *w)
{
    w->code = err_set(w->e, ERR_MEMORY, "out of memory at record %" PRIu64, w->record);
    return false;
}

static bool fail_depth(struct walk *w, const char *what)
{
    w->code = err_set(w->e, ERR_LIMIT, "record %" PRIu64 " is below more than %d %s", w->record, MAX_DEPTH, what);
    return false;
}

static void pass_over(struct walk *w, const char *why)
{
    if (w->report->bad_lines++ == 0)
        err_set(&w->report->first_bad, ERR_INVALID, "record %" PRIu64 ": %s", w->record, why);
}

// --- the path ---

// Ends the open frame at `end`; one without a name is none.
static bool close_frame(struct walk *w, size_t end, size_t next)
{
    void *frames = w->frames;
    if (end > w->end.open) {
        if (w->end.frames == MAX_DEPTH)
            return fail_depth(w, "frames");
        if (!mem_try_grow(&frames, &w->frame_capacity, (size_t)w->end.frames + 1, sizeof *w->frames, MAX_DEPTH))
            return fail_memory(w);
        w->frames = frames;
        w->frames[w->end.frames++] = (struct path_frame){.start = w->end.open, .len = end - w->end.open};
    }
    w->end.open = next;
    return true;
}

static bool split_names(struct walk *w, size_t from)
{
    const uint8_t *separator;
    while (from < w->names.len && (separator = memchr(w->names.data + from, ';', w->names.len - from)) != NULL) {
        const size_t at = (size_t)(separator - w->names.data);
        if (!close_frame(w, at, at + 1))
            return false;
        from = at + 1;
    }
    return true;
}

static bool path_fits(struct walk *w)
{
    const size_t held = w->names.len + w->frame_capacity * sizeof *w->frames + w->parent_capacity * sizeof *w->parents;
    if (held <= w->max_written)
        return true;
    w->report->batch_full = true;
    w->code =
        err_set(w->e, ERR_LIMIT, "max_batch_bytes: the way to record %" PRIu64 " takes %zu bytes, allowed are %zu",
                w->record, held, w->max_written);
    return false;
}

static bool add_name(struct walk *w, struct bytes name)
{
    const size_t from = w->end.len;
    w->names.len = from;
    if (!path_fits(w))
        return false;
    buf_add(&w->names, name.data, name.len);
    if (!buf_ok(&w->names))
        return fail_memory(w);
    w->end.len = w->names.len;
    return w->splits ? split_names(w, from) : close_frame(w, w->end.len, w->end.len);
}

// --- values ---

static uint32_t location_of(struct walk *w, size_t start, size_t len)
{
    w->written += len;
    return frame_location(w->builder, &(struct frame){.name = {w->names.data + start, len}});
}

static uint32_t read_stack(struct walk *w)
{
    bool more = true;
    if (w->end.len > w->end.open)
        more = frame_stack_add(&w->stack, location_of(w, w->end.open, w->end.len - w->end.open));
    for (uint32_t i = w->end.frames; more && i-- > 0;) {
        struct path_frame *f = &w->frames[i];
        if (f->location == 0)
            f->location = location_of(w, f->start, f->len);
        more = frame_stack_add(&w->stack, f->location);
    }
    w->written += w->stack.count * sizeof *w->stack.locations;
    return frame_stack_take(&w->stack, w->report);
}

static bool check_sums(struct walk *w)
{
    if (w->stack.no_memory || w->sums.no_memory)
        return fail_memory(w);
    if (w->sums.count > w->max_samples)
        w->code = err_set(w->e, ERR_LIMIT, "max_samples: more than %u different stacks", w->max_samples);
    if (w->code == ERR_OK && w->written > w->max_written) {
        w->report->batch_full = true;
        w->code = err_set(w->e, ERR_LIMIT,
                          "max_batch_bytes: the stacks of the records take more than %zu bytes when written out, at "
                          "record %" PRIu64,
                          w->max_written, w->record);
    }
    return w->code == ERR_OK && !builder_failed(w->builder);
}

static bool add_value(struct walk *w, uint64_t value)
{
    int64_t scaled;
    if (value == 0)
        return true;
    if (__builtin_mul_overflow(value, w->meaning->scales ? w->meaning->period : 1, &scaled))
        pass_over(w, "its value times the period does not fit 64 bits");
    else if (!frame_sums_add(&w->sums, read_stack(w), scaled))
        pass_over(w, "the values of its stack add up to more than 64 bits hold");
    return check_sums(w);
}

// --- records ---

static bool add_parent(struct walk *w, uint64_t children)
{
    void *parents = w->parents;
    if (children == 0)
        return true;
    if (w->depth == MAX_DEPTH)
        return fail_depth(w, "records with more children to come");
    if (!mem_try_grow(&parents, &w->parent_capacity, (size_t)w->depth + 1, sizeof *w->parents, MAX_DEPTH))
        return fail_memory(w);
    w->parents = parents;
    w->parents[w->depth++] = (struct parent){w->end, children};
    return true;
}

// Back to the record whose child comes next; with its last one it is forgotten, so that a chain takes no memory.
static void enter_child(struct walk *w)
{
    struct parent *p = &w->parents[w->depth - 1];
    w->end = p->end;
    if (--p->children == 0)
        w->depth--;
}

static bool read_record(struct walk *w)
{
    const size_t start = wire_offset(&w->in);
    struct bytes name = {0};
    w->record++;
    const uint64_t len = wire_varint(&w->in);
    if (len > (uint64_t)(w->in.end - w->in.at))
        wire_fail(&w->in, "its name runs past the end");
    else
        name = (struct bytes){w->in.at, (size_t)len};
    w->in.at += name.len;
    const uint64_t value = wire_varint(&w->in), children = wire_varint(&w->in);
    if (w->in.error != NULL) {
        w->code = err_set(w->e, ERR_INVALID, "record %" PRIu64 ", at byte %zu: %s", w->record, start, w->in.error);
        return false;
    }
    return add_name(w, name) && add_value(w, value) && add_parent(w, children);
}

// Data that ends between two records is taken for what it is, as servers do.
static void read_records(struct walk *w)
{
    bool good = w->in.at == w->in.end || read_record(w);
    while (good && w->depth > 0 && w->in.at != w->in.end) {
        enter_child(w);
        good = read_record(w);
    }
    if (good && w->depth > 0)
        pass_over(w, "it is the last one, but children of records before it were to come");
    if (good && w->in.at != w->in.end)
        w->code = err_set(w->e, ERR_INVALID, "%zu bytes stand behind the last of %" PRIu64 " records",
                          (size_t)(w->in.end - w->in.at), w->record);
}

static void add_profile(struct walk *w, const struct decode_options *options)
{
    const struct pyroscope_meaning *m = w->meaning;
    struct profile p = {
        .sample_type = {builder_string_text(w->builder, m->sample_type),
                        builder_string_text(w->builder, m->sample_unit)},
        .period = m->period,
    };
    if (m->period_type != NULL)
        p.period_type = (struct value_type){builder_string_text(w->builder, m->period_type),
                                            builder_string_text(w->builder, m->period_unit)};
    frame_sums_finish(&w->sums, options, &p, w->report);
}

static void walk_fini(struct walk *w)
{
    builder_destroy(&w->builder);
    frame_stack_fini(&w->stack);
    frame_sums_fini(&w->sums);
    buf_fini(&w->names);
    free(w->frames);
    free(w->parents);
}

static enum err_code decode(struct walk *w, struct bytes data, const struct decode_options *options, struct batch **out)
{
    const struct decode_limits *limits = decode_limits_of(options);
    *out = NULL;
    w->max_samples = limits->max_samples;
    w->max_written = limits->max_batch_bytes != 0 ? limits->max_batch_bytes : SIZE_MAX;
    w->builder = w->sums.builder = builder_create(limits->max_batch_bytes);
    frame_stack_init(&w->stack, w->builder, limits->max_stack_depth);
    buf_init(&w->names, SIZE_MAX);
    wire_reader_init(&w->in, data);
    read_records(w);
    if (w->code == ERR_OK) {
        add_profile(w, options);
        w->code = decode_finish(w->builder, out, w->report, w->e);
    }
    walk_fini(w);
    return w->code;
}

enum err_code pyroscope_trie_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                    const struct decode_options *options, struct batch **out,
                                    struct decode_report *report, struct err *e)
{
    struct walk w = {.meaning = meaning, .report = report, .e = e, .splits = true};
    return decode(&w, data, options, out);
}

enum err_code pyroscope_tree_decode(struct bytes data, const struct pyroscope_meaning *meaning,
                                    const struct decode_options *options, struct batch **out,
                                    struct decode_report *report, struct err *e)
{
    struct walk w = {.meaning = meaning, .report = report, .e = e};
    return decode(&w, data, options, out);
}
