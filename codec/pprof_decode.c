// SPDX-License-Identifier: Apache-2.0
// From a pprof file to a batch: the profiles, their time and attributes around the samples.
#include "base/mem.h"
#include "codec/pprof_reader.h"

// What all profiles of the file have in common, and the order they come in.
struct frame {
    struct profile common;
    struct value_type *types; // in the file's order
    uint32_t *order;          // order[k] = the sample type of profile k
    uint32_t count;
};

static void frame_fini(struct frame *f)
{
    free(f->types);
    free(f->order);
}

static bool read_value_type(struct pprof_reader *p, struct bytes message, struct value_type *out, uint64_t *name)
{
    uint64_t n[2];
    if (!pprof_read_numbers(p, message, n, COUNT_OF(n)))
        return false;
    *name = n[0];
    return pprof_string(p, n[0], "its type", &out->type) && pprof_string(p, n[1], "its unit", &out->unit);
}

static bool same_text(const struct pprof_reader *p, uint64_t a, uint64_t b)
{
    return a == b || bytes_equal(p->header.strings.items[a], p->header.strings.items[b]);
}

// The default is the last type unless the file names one; OTLP's viewers show the first profile.
static void set_order(struct frame *f, uint32_t first)
{
    f->order[0] = first;
    for (uint32_t i = 0, k = 1; i < f->count; i++) {
        if (i != first)
            f->order[k++] = i;
    }
}

static bool read_types(struct pprof_reader *p, struct frame *f)
{
    const struct pprof_header *h = &p->header;
    f->count = (uint32_t)h->sample_types.count;
    f->types = mem_try_array(f->count, sizeof *f->types);
    f->order = mem_try_array(f->count, sizeof *f->order);
    if (f->types == NULL || f->order == NULL)
        return pprof_no_memory(p);
    uint32_t chosen = PPROF_NONE;
    p->place = "sample type";
    for (uint32_t i = 0; i < f->count; i++) {
        uint64_t name;
        p->place_number = i;
        if (!read_value_type(p, h->sample_types.items[i], &f->types[i], &name))
            return false;
        bool named = h->default_sample_type != 0 && name != 0 && same_text(p, name, h->default_sample_type);
        if (named && chosen == PPROF_NONE)
            chosen = i;
    }
    p->place = NULL;
    if (f->count > 0)
        set_order(f, chosen != PPROF_NONE ? chosen : f->count - 1);
    return true;
}

struct attribute_list {
    uint32_t ids[8];
    uint32_t count;
};

static void add_attribute(struct pprof_reader *p, struct attribute_list *l, const char *key, const struct value *v)
{
    l->ids[l->count++] = builder_attribute(p->builder, builder_string_text(p->builder, key), 0, v);
}

static bool add_text(struct pprof_reader *p, struct attribute_list *l, const char *key, const char *what,
                     uint64_t index)
{
    struct bytes text;
    if (!pprof_text(p, index, what, &text))
        return false;
    struct value v = value_string(text);
    if (text.len > 0)
        add_attribute(p, l, key, &v);
    return true;
}

static bool add_comments(struct pprof_reader *p, struct attribute_list *l)
{
    const struct wire_list *comments = &p->header.comments;
    if (comments->count == 0)
        return true;
    if (comments->count > UINT32_MAX)
        return pprof_fail(p, ERR_LIMIT, "the profile has %zu comments, allowed are %u", comments->count, UINT32_MAX);
    struct value *texts = mem_try_array(comments->count, sizeof *texts);
    if (texts == NULL)
        return pprof_no_memory(p);
    bool good = true;
    for (size_t i = 0; good && i < comments->count; i++) {
        struct bytes text = {0};
        good = pprof_text(p, comments->items[i], "a comment", &text);
        texts[i] = value_string(text);
    }
    struct value v = {.kind = VALUE_ARRAY, .count = (uint32_t)comments->count, .items = texts};
    if (good)
        add_attribute(p, l, "pprof.profile.comment", &v);
    free(texts);
    return good;
}

static bool read_attributes(struct pprof_reader *p, const struct decode_options *o, struct frame *f)
{
    const struct pprof_header *h = &p->header;
    struct attribute_list l = {.count = 0};
    if (!add_text(p, &l, "pprof.profile.drop_frames", "drop_frames", h->drop_frames) ||
        !add_text(p, &l, "pprof.profile.keep_frames", "keep_frames", h->keep_frames) ||
        !add_text(p, &l, "pprof.profile.doc_url", "doc_url", h->doc_url) || !add_comments(p, &l))
        return false;
    struct value said = value_int(h->time_nanos);
    if (f->common.time_nanos != (uint64_t)h->time_nanos)
        add_attribute(p, &l, "pprof.profile.time_nanos", &said);
    f->common.attribute_set = decode_profile_attributes(o, p->builder, l.ids, l.count);
    return true;
}

static bool read_frame(struct pprof_reader *p, const struct decode_options *o, struct frame *f)
{
    const struct pprof_header *h = &p->header;
    uint64_t unused;
    if (h->default_sample_type != 0 && h->default_sample_type >= h->strings.count)
        return pprof_fail(p, ERR_INVALID, "default_sample_type is string %lld, but the profile has %zu strings",
                          (long long)h->default_sample_type, h->strings.count);
    if (h->sample_types.count == 0 && h->samples.count > 0)
        return pprof_fail(p, ERR_INVALID, "the profile has %u samples but no sample types", h->samples.count);
    f->common.time_nanos = (uint64_t)decode_time(o, h->time_nanos, p->report);
    f->common.duration_nanos = (uint64_t)h->duration_nanos;
    f->common.period = h->period;
    p->place = "period_type";
    bool good = read_value_type(p, h->period_type, &f->common.period_type, &unused);
    p->place = NULL;
    return good && read_types(p, f) && read_attributes(p, o, f);
}

static bool is_identity(const struct frame *f)
{
    return f->count == 0 || f->order[0] == 0;
}

// Opens the scope with what the options say of it and the file itself does not.
static bool begin_scope(struct pprof_reader *p, const struct decode_scope *s, const struct key_value *own,
                        uint32_t own_count)
{
    const struct bytes none = {0};
    struct key_value *all = mem_try_array((size_t)own_count + s->attribute_count, sizeof *all);
    if (all == NULL)
        return pprof_no_memory(p);
    uint32_t count = 0;
    for (uint32_t i = 0; i < own_count; i++)
        all[count++] = own[i];
    for (uint32_t i = 0; i < s->attribute_count; i++) {
        if (key_values_find(own, own_count, s->attributes[i].key) == NULL)
            all[count++] = s->attributes[i];
    }
    builder_scope(p->builder, s->name, s->version, all, count, 0, none);
    free(all);
    return true;
}

static bool add_scope(struct pprof_reader *p, const struct decode_scope *scope, const struct frame *f)
{
    struct key_value attributes[2];
    uint32_t count = 0;
    struct bytes text;
    struct value *order = mem_try_array(f->count, sizeof *order);
    if (order == NULL)
        return pprof_no_memory(p);
    bool good = pprof_text(p, p->header.default_sample_type, "default_sample_type", &text);
    if (good && text.len > 0)
        attributes[count++] = (struct key_value){BYTES_LITERAL("pprof.scope.default_sample_type"), value_string(text)};
    for (uint32_t i = 0; i < f->count; i++)
        order[i] = value_int(f->order[i]);
    if (!is_identity(f))
        attributes[count++] = (struct key_value){BYTES_LITERAL("pprof.scope.sample_type_order"),
                                                 {.kind = VALUE_ARRAY, .count = f->count, .items = order}};
    good = good && begin_scope(p, scope, attributes, count);
    free(order);
    return good;
}

static void add_profiles(struct pprof_reader *p, const struct frame *f, const struct bytes *payload)
{
    struct columns *columns = sample_writer_take(&p->samples);
    for (uint32_t k = 0; columns != NULL && k < f->count; k++) {
        uint32_t type = f->order[k];
        struct profile profile = f->common;
        profile.sample_type = f->types[type];
        profile.columns = columns_ref(columns);
        profile.observations = observation_writer_take(&p->observations[type]);
        if (k == 0 && payload != NULL) {
            profile.original_payload_format = BYTES_LITERAL("pprof");
            profile.original_payload = *payload;
        }
        if (profile.observations == NULL) { // the builder has failed
            columns_unref(&profile.columns);
            break;
        }
        builder_profile(p->builder, &profile);
    }
    columns_unref(&columns);
}

// Another format is passed over in a folder; zero bytes are what a crash leaves of a profile.
static bool begins_blank(struct bytes data)
{
    static const uint8_t blank[16];
    return memcmp(data.data, blank, data.len < sizeof blank ? data.len : sizeof blank) == 0;
}

static bool not_pprof(struct pprof_reader *p, struct bytes inflated)
{
    const char *what = pprof_describe_other(inflated);
    if (p->code <= ERR_INVALID && what != NULL)
        p->code = err_set(p->e, begins_blank(inflated) ? ERR_INVALID : ERR_UNSUPPORTED,
                          "not a pprof profile: it looks like %s", what);
    return false;
}

static uint32_t items_in(const struct pprof_section *s, size_t bytes_per_item)
{
    size_t n = s->count == 0 ? 0 : (size_t)(s->end - s->start) / bytes_per_item;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

// From what the first pass counted. A line rarely takes less than eight bytes; the ids of stacks take about what
// they take in the file.
static void expect_items(struct pprof_reader *p)
{
    const struct pprof_header *h = &p->header;
    const struct builder_expected expected = {
        .strings = (uint32_t)h->strings.count,
        .functions = h->functions.count,
        .locations = h->locations.count,
        .lines = items_in(&h->locations, 8),
        .stacks = h->samples.count,
        .stack_bytes = items_in(&h->samples, 1),
    };
    builder_expect(p->builder, &expected);
}

static bool read_all(struct pprof_reader *p, struct bytes inflated, struct bytes data, const struct decode_options *o,
                     struct frame *f)
{
    if (pprof_is_otlp(inflated) || !pprof_scan(p, inflated))
        return not_pprof(p, inflated);
    struct bytes none = {0};
    expect_items(p);
    if (!pprof_read_tables(p) || !read_frame(p, o, f) || !pprof_read_samples(p))
        return false;
    builder_resource(p->builder, o->resource_attributes, o->resource_attribute_count, 0, none);
    if (!add_scope(p, &o->scope, f))
        return false;
    add_profiles(p, f, o->keep_original_payload ? &data : NULL);
    p->report->samples = p->header.samples.count;
    p->report->sample_types = f->count;
    return true;
}

static void reader_fini(struct pprof_reader *p)
{
    pprof_labels_fini(&p->labels);
    pprof_ids_fini(&p->mappings);
    pprof_ids_fini(&p->locations);
    pprof_ids_fini(&p->functions);
    pprof_header_fini(&p->header);
    arena_fini(&p->scratch);
    free(p->string_ids);
    builder_destroy(&p->builder);
}

enum err_code pprof_decode_inflated(struct bytes data, struct bytes original, const struct decode_options *options,
                                    struct batch **out, struct decode_report *report, struct err *e)
{
    struct pprof_reader p = {.limits = decode_limits_of(options), .report = report, .e = e};
    struct frame f = {.count = 0};
    arena_init(&p.scratch, 0);
    p.builder = builder_create(p.limits->max_batch_bytes);
    bool good = p.builder != NULL ? read_all(&p, data, original, options, &f) : pprof_no_memory(&p);
    pprof_samples_fini(&p);
    if (good || p.code == ERR_OK) // not good and no code: the builder failed and says why
        p.code = decode_finish(p.builder, out, report, e);
    if (p.builder != NULL)
        report->repaired_utf8 += builder_repaired_strings(p.builder);
    frame_fini(&f);
    reader_fini(&p);
    return p.code;
}

enum err_code pprof_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                           struct decode_report *report, struct err *e)
{
    static const struct decode_options no_options;
    struct decode_report unwanted;
    report = report != NULL ? report : &unwanted;
    options = options != NULL ? options : &no_options;
    *report = (struct decode_report){.format = "pprof"};
    *out = NULL;
    struct buf storage;
    struct bytes inflated;
    buf_init(&storage, SIZE_MAX);
    enum err_code code = decode_inflate(data, decode_limits_of(options), &storage, &inflated, report, e);
    if (code == ERR_OK)
        code = pprof_decode_inflated(inflated, data, options, out, report, e);
    buf_fini(&storage);
    return code;
}
