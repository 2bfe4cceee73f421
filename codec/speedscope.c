// SPDX-License-Identifier: Apache-2.0
// From a speedscope file to a batch: first the frames, wherever they stand, then a profile for each of the file's.
#include "codec/speedscope_reader.h"

#include "base/mem.h"
#include "codec/frames.h"

#include <math.h>
#include <stdarg.h>

bool speedscope_fail(struct speedscope_reader *r, enum err_code code, const char *format, ...)
{
    va_list arguments;
    if (r->code != ERR_OK)
        return false;
    va_start(arguments, format);
    r->code = err_set_list(r->e, code, format, arguments);
    va_end(arguments);
    if (r->profile < r->profile_count)
        err_prefix(r->e, "profile %u", r->profile);
    return false;
}

bool speedscope_no_memory(struct speedscope_reader *r)
{
    return speedscope_fail(r, ERR_MEMORY, "out of memory for a speedscope file of %zu frames", r->frame_count);
}

bool speedscope_json_good(struct speedscope_reader *r, const struct json_reader *j)
{
    if (r->code == ERR_OK)
        r->code = json_result(j, r->e);
    return r->code == ERR_OK;
}

bool speedscope_number(struct json_reader *j, long double *out)
{
    struct bytes text;
    int64_t integer;
    double number;
    *out = 0;
    if (!json_number(j, &text))
        return false;
    if (json_to_int64(text, &integer)) {
        *out = (long double)integer;
        return true;
    }
    if (!json_to_double(text, &number)) {
        json_fail(j, ERR_INVALID, "a number that is too large");
        return false;
    }
    *out = (long double)number;
    return true;
}

// --- frames ---

// A line or column; null, and what cannot be one, is none.
static int64_t place_number(struct json_reader *j)
{
    long double n;
    if (json_peek(j) != JSON_NUMBER) {
        json_skip(j);
        return 0;
    }
    return speedscope_number(j, &n) && n > 0 && n < 1e15L ? (int64_t)n : 0;
}

static bool read_frame(struct speedscope_reader *r, struct json_reader *j, struct frame *f)
{
    bool has_name = false;
    struct bytes key;
    *f = (struct frame){0};
    if (!json_enter_object(j))
        return false;
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "name"))
            has_name = json_string(j, &f->name);
        else if (bytes_equal_text(key, "file") && json_peek(j) == JSON_STRING)
            (void)json_string(j, &f->file);
        else if (bytes_equal_text(key, "line"))
            f->line = place_number(j);
        else if (bytes_equal_text(key, "col"))
            f->column = place_number(j);
    }
    if (f->name.len == 0)
        f->name = BYTES_LITERAL(FRAME_UNKNOWN);
    if (!has_name && j->error == NULL)
        return speedscope_fail(r, ERR_INVALID, "frame %zu of shared.frames has no name", r->frame_count);
    return j->error == NULL;
}

static bool read_frames(struct speedscope_reader *r, struct json_reader *j)
{
    struct frame f;
    r->frame_count = 0; // of two lists the last counts, as for all keys
    if (!json_enter_array(j))
        return false;
    while (json_next_element(j)) {
        void *frames = r->frames;
        if (!read_frame(r, j, &f))
            return false;
        if (!mem_try_grow(&frames, &r->frame_capacity, r->frame_count + 1, sizeof *r->frames, UINT32_MAX))
            return speedscope_no_memory(r);
        r->frames = frames;
        r->frames[r->frame_count++] = frame_location(r->builder, &f);
        if (builder_failed(r->builder))
            return false;
    }
    return true;
}

// Through the whole file once.
static bool read_shared(struct speedscope_reader *r, struct json_reader *j)
{
    struct bytes key;
    bool found = false;
    if (json_enter_object(j)) {
        while (json_next_member(j, &key)) {
            if (!bytes_equal_text(key, "shared") || !json_enter_object(j))
                continue;
            while (json_next_member(j, &key)) {
                if (!bytes_equal_text(key, "frames"))
                    continue;
                if (!read_frames(r, j) && j->error == NULL)
                    return false;
                found = true;
            }
        }
    }
    json_end(j);
    if (!speedscope_json_good(r, j))
        return false;
    return found || speedscope_fail(r, ERR_INVALID, "it has no shared.frames: not a speedscope file");
}

// --- profiles ---

static bool read_members(struct speedscope_profile *p, struct json_reader *j)
{
    struct bytes key;
    *p = (struct speedscope_profile){0};
    if (!json_enter_object(j))
        return false;
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "type")) {
            (void)json_string(j, &p->type);
        } else if (bytes_equal_text(key, "name")) {
            (void)json_string(j, &p->name);
        } else if (bytes_equal_text(key, "unit")) {
            (void)json_string(j, &p->unit);
        } else if (bytes_equal_text(key, "startValue")) {
            p->has_start = speedscope_number(j, &p->start);
        } else if (bytes_equal_text(key, "endValue")) {
            p->has_end = speedscope_number(j, &p->end);
        } else if (bytes_equal_text(key, "samples")) {
            p->has_samples = true;
            p->samples = *j;
        } else if (bytes_equal_text(key, "weights")) {
            p->has_weights = true;
            p->weights = *j;
        } else if (bytes_equal_text(key, "events")) {
            p->has_events = true;
            p->events = *j;
        }
    }
    return j->error == NULL;
}

struct unit {
    const char *name; // in the file
    const char *type, *unit;
    int64_t factor;
    bool time;
};

static const struct unit units[] = {
    {"none", "samples", "count", 1, false},
    {"nanoseconds", "time", "nanoseconds", 1, true},
    {"microseconds", "time", "nanoseconds", 1000, true},
    {"milliseconds", "time", "nanoseconds", 1000000, true},
    {"seconds", "time", "nanoseconds", 1000000000, true},
    {"bytes", "memory", "bytes", 1, false},
};

static const struct unit *find_unit(struct speedscope_reader *r, struct bytes name)
{
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (bytes_equal_text(name, units[i].name))
            return &units[i];
    speedscope_fail(
        r, ERR_INVALID,
        "its unit is not known; known are none, nanoseconds, microseconds, milliseconds, seconds and bytes");
    return NULL;
}

static bool read_lists(struct speedscope_reader *r, struct speedscope_profile *p)
{
    r->row_count = 0;
    if (bytes_equal_text(p->type, "sampled"))
        return speedscope_read_sampled(r, p);
    if (bytes_equal_text(p->type, "evented"))
        return speedscope_read_evented(r, p);
    return speedscope_fail(r, ERR_UNSUPPORTED, "its type is neither \"sampled\" nor \"evented\"");
}

// Samples have the name of a thread when there are several profiles, or when the name says so (py-spy).
static uint32_t thread_set(struct speedscope_reader *r, const struct speedscope_profile *p)
{
    static const char thread[] = "Thread ";
    const bool says_thread = p->name.len >= sizeof thread - 1 && memcmp(p->name.data, thread, sizeof thread - 1) == 0;
    if (p->name.len == 0 || (r->profile_count < 2 && !says_thread))
        return 0;
    const struct value v = value_string(p->name);
    const uint32_t attribute = builder_attribute(r->builder, builder_string_text(r->builder, "thread.name"), 0, &v);
    return builder_attribute_set(r->builder, &attribute, 1);
}

// Integers whose sums are the rounded sums of what they stand for.
static bool round_rows(struct speedscope_reader *r, const struct unit *u, struct observation_writer *w)
{
    long double sum = 0;
    int64_t written = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const long double exact = r->rows[i].weight * (long double)u->factor;
        sum += exact;
        if (!(sum < 9.2e18L))
            return speedscope_fail(r, ERR_INVALID, "its weights add up to more than 64 bits hold");
        const int64_t until = (int64_t)roundl(sum);
        observation_writer_add_value(w, until - written);
        written = until;
        r->report->rounded_values += !u->time && exact != roundl(exact); // of a nanosecond nobody asks
    }
    return true;
}

static bool write_samples(struct speedscope_reader *r, const struct speedscope_profile *p, const struct unit *u,
                          struct profile *out)
{
    struct sample_writer samples;
    struct observation_writer observations;
    const uint32_t set = thread_set(r, p);
    sample_writer_init(&samples, r->builder);
    observation_writer_init(&observations, r->builder);
    for (size_t i = 0; i < r->row_count; i++)
        sample_writer_add(&samples, r->rows[i].stack, set, 0);
    const bool good = round_rows(r, u, &observations);
    out->columns = sample_writer_take(&samples);
    out->observations = observation_writer_take(&observations);
    sample_writer_fini(&samples);
    observation_writer_fini(&observations);
    if (good && out->columns != NULL && out->observations != NULL)
        return true;
    columns_unref(&out->columns);
    observations_unref(&out->observations);
    return false;
}

static uint64_t duration_of(const struct speedscope_profile *p, const struct unit *u)
{
    const long double nanos = (p->end - p->start) * (long double)u->factor;
    return u->time && p->has_start && p->has_end && nanos > 0 && nanos < 9.2e18L ? (uint64_t)roundl(nanos) : 0;
}

static uint32_t name_set(struct speedscope_reader *r, struct bytes name)
{
    const struct value v = value_string(name);
    uint32_t attribute = 0;
    if (name.len > 0)
        attribute = builder_attribute(r->builder, builder_string_text(r->builder, "profile_name"), 0, &v);
    return decode_profile_attributes(r->options, r->builder, &attribute, name.len > 0);
}

static bool read_profile(struct speedscope_reader *r, struct json_reader *j)
{
    struct speedscope_profile p;
    if (!read_members(&p, j))
        return speedscope_json_good(r, j);
    const struct unit *u = find_unit(r, p.unit);
    if (u == NULL || !read_lists(r, &p) || builder_failed(r->builder))
        return false;
    const char *type = r->options->folded.sample_type != NULL ? r->options->folded.sample_type : u->type;
    struct profile profile = {
        .sample_type = {builder_string_text(r->builder, type), builder_string_text(r->builder, u->unit)},
        .period = 1,
        .time_nanos = (uint64_t)decode_time(r->options, 0, r->report),
        .duration_nanos = duration_of(&p, u),
        .attribute_set = name_set(r, p.name),
    };
    profile.period_type = profile.sample_type; // as for folded stacks
    if (!write_samples(r, &p, u, &profile))
        return false;
    builder_profile(r->builder, &profile);
    r->report->samples += r->row_count;
    r->report->sample_types++;
    return true;
}

static bool count_profiles(struct speedscope_reader *r, struct json_reader j)
{
    r->profile_count = 0;
    if (!json_enter_array(&j))
        return speedscope_json_good(r, &j);
    while (json_next_element(&j))
        if (++r->profile_count == UINT32_MAX)
            return speedscope_fail(r, ERR_LIMIT, "it has too many profiles");
    return speedscope_json_good(r, &j);
}

static bool read_profiles(struct speedscope_reader *r, struct json_reader *j)
{
    struct json_reader profiles = {0};
    struct bytes key;
    bool found = false;
    (void)json_enter_object(j);
    while (json_next_member(j, &key)) {
        if (bytes_equal_text(key, "profiles")) {
            found = true;
            profiles = *j;
        }
    }
    if (!found)
        return speedscope_fail(r, ERR_INVALID, "it has no profiles: not a speedscope file");
    if (!count_profiles(r, profiles))
        return false;
    (void)json_enter_array(&profiles);
    for (r->profile = 0; json_next_element(&profiles); r->profile++)
        if (!read_profile(r, &profiles))
            return false;
    r->report->repaired_utf8 += profiles.repaired_strings;
    return speedscope_json_good(r, &profiles);
}

static bool read_file(struct speedscope_reader *r, struct bytes data)
{
    struct json_reader j;
    json_reader_init(&j, data, &r->texts, SPEEDSCOPE_MAX_DEPTH);
    if (!read_shared(r, &j))
        return false;
    r->report->repaired_utf8 += j.repaired_strings;
    frames_begin(r->builder, r->options);
    json_reader_init(&j, data, &r->texts, SPEEDSCOPE_MAX_DEPTH);
    return read_profiles(r, &j);
}

static void reader_fini(struct speedscope_reader *r)
{
    builder_destroy(&r->builder);
    frame_stack_fini(&r->stack);
    arena_fini(&r->texts);
    free(r->frames);
    free(r->open);
    speedscope_tree_fini(&r->tree);
    free(r->places);
    free(r->rows);
}

enum err_code speedscope_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                                struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original; // OTLP has no name for the format
    const struct decode_limits *limits = decode_limits_of(options);
    struct speedscope_reader r = {.options = options, .report = report, .e = e, .max_samples = limits->max_samples};
    *out = NULL;
    arena_init(&r.texts, limits->max_batch_bytes);
    r.builder = builder_create(limits->max_batch_bytes);
    frame_stack_init(&r.stack, r.builder, limits->max_stack_depth);
    const bool good = read_file(&r, data);
    if (good || r.code == ERR_OK) // not good and no code: the builder failed and says why
        r.code = decode_finish(r.builder, out, report, e);
    report->repaired_utf8 += builder_repaired_strings(r.builder);
    const enum err_code code = r.code;
    reader_fini(&r);
    return code;
}

// --- recognising ---

static bool has_text(struct bytes data, const char *text)
{
    return memmem(data.data, data.len, text, strlen(text)) != NULL;
}

// By its two keys at the top.
static bool has_keys(struct bytes data)
{
    struct json_reader j;
    struct arena arena;
    struct bytes key;
    bool shared = false, profiles = false;
    arena_init(&arena, 1 << 16);
    json_reader_init(&j, data, &arena, SPEEDSCOPE_MAX_DEPTH);
    if (json_enter_object(&j)) {
        while (!(shared && profiles) && json_next_member(&j, &key)) {
            shared |= bytes_equal_text(key, "shared") && json_peek(&j) == JSON_OBJECT;
            profiles |= bytes_equal_text(key, "profiles") && json_peek(&j) == JSON_ARRAY;
        }
    }
    arena_fini(&arena);
    return shared && profiles;
}

bool speedscope_recognise(struct bytes data)
{
    static const char schema[] = "speedscope.app/file-format-schema.json";
    const size_t n = data.len < 4096 ? data.len : 4096;
    struct json_reader j;
    struct arena none;
    arena_init(&none, 1);
    json_reader_init(&j, data, &none, SPEEDSCOPE_MAX_DEPTH);
    if (json_peek(&j) != JSON_OBJECT)
        return false;
    if (has_text((struct bytes){data.data, n}, schema) || has_text((struct bytes){data.data + data.len - n, n}, schema))
        return true;
    return has_text(data, "\"shared\"") && has_text(data, "\"profiles\"") && has_keys(data);
}
