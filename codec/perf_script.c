// SPDX-License-Identifier: Apache-2.0
#include "codec/perf_script.h"

#include "base/mem.h"
#include "codec/frame_cache.h"
#include "codec/frame_stack.h"
#include "codec/frames.h"
#include "codec/pprof.h"
#include "codec/text_lines.h"

#include <inttypes.h>

// One event of the recording: a sample type.
struct event {
    uint32_t name; // string
    bool is_clock, has_period;
    int64_t first_period;
    struct sample_writer samples;
    struct observation_writer observations;
};

struct reader {
    const struct decode_options *options;
    const struct decode_limits *limits;
    struct decode_report *report;
    struct builder *builder;
    struct frame_stack stack;
    struct frame_cache frames;
    struct event *events;
    size_t event_capacity;
    uint32_t event_count;
    uint64_t first_nanos, last_nanos; // of all samples
    bool no_memory, too_many_events;
    // The sample at hand.
    struct event *event; // NULL = none
    uint32_t attribute_set;
    int64_t value;
    struct bytes frame;       // the last line of its stack, not added yet: its source may follow
    struct bytes source_file; // len 0 = none
    int64_t source_line;
};

// --- frames ---

static bool starts_with(struct bytes text, const char *start)
{
    const size_t len = strlen(start);
    return text.len >= len && memcmp(text.data, start, len) == 0;
}

static bool is_kernel(struct bytes module)
{
    static const char *const starts[] = {"[kernel", "[guest.kernel", "[vmlinux"};
    static const char *const parts[] = {"/vmlinux", ".ko"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (starts_with(module, starts[i]))
            return true;
    for (size_t i = 0; module.len > 0 && i < COUNT_OF(parts); i++)
        if (memmem(module.data, module.len, parts[i], strlen(parts[i])) != NULL)
            return true;
    return false;
}

// Modules of the kernel stand in brackets, like some places of a process that are none.
static bool is_kernel_module(struct bytes module)
{
    static const char *const others[] = {"[vdso", "[vsyscall", "[heap", "[stack", "[anon", "[uprobes"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        if (starts_with(module, others[i]))
            return false;
    return starts_with(module, "[") || is_kernel(module);
}

static uint32_t make_location(struct reader *r)
{
    struct perf_frame parsed;
    CHECK(perf_parse_frame(r->frame, &parsed));
    const struct frame f = {
        .name = parsed.symbol,
        .file = parsed.symbol.len > 0 ? r->source_file : (struct bytes){0},
        .line = parsed.symbol.len > 0 ? r->source_line : 0,
        .module = parsed.module,
        .type = is_kernel_module(parsed.module) ? BYTES_LITERAL("kernel") : (struct bytes){0},
        .address = parsed.address,
    };
    return frame_location(r->builder, &f);
}

static uint32_t location_of_frame(struct reader *r)
{
    uint64_t hash;
    uint32_t location;
    if (r->source_file.len > 0)
        return make_location(r);
    if (!frame_cache_find(&r->frames, r->frame, &hash, &location)) {
        location = make_location(r);
        frame_cache_put(&r->frames, r->frame, hash, location);
    }
    return location;
}

static void end_frame(struct reader *r)
{
    if (r->frame.len > 0)
        frame_stack_add(&r->stack, location_of_frame(r));
    r->frame = r->source_file = (struct bytes){0};
    r->source_line = 0;
}

// --- samples ---

static void end_sample(struct reader *r)
{
    struct event *v = r->event;
    if (v == NULL)
        return;
    end_frame(r);
    sample_writer_add(&v->samples, frame_stack_take(&r->stack, r->report), r->attribute_set, 0);
    observation_writer_add_value(&v->observations, r->value);
    r->report->samples++;
    r->event = NULL;
    r->no_memory |= r->stack.no_memory || r->frames.no_memory;
}

// Are these the letters behind an event's last colon that tell how it was counted? A tracepoint has its name there.
static bool are_modifiers(const uint8_t *at, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] == '\0' || strchr("ukhpPHGSDIWe", at[i]) == NULL)
            return false;
    return true;
}

// "cycles:uppp" is "cycles:u": how precise it is and whether guests count does not make it another thing.
static struct bytes event_name(struct bytes raw, char *text, size_t size)
{
    const uint8_t *colon = raw.len > 0 ? memrchr(raw.data, ':', raw.len) : NULL;
    if (raw.len == 0)
        return BYTES_LITERAL("samples");
    if (colon == NULL || raw.len >= size || !are_modifiers(colon + 1, (size_t)(raw.data + raw.len - colon) - 1))
        return raw;
    size_t len = (size_t)(colon - raw.data) + 1;
    memcpy(text, raw.data, len);
    for (const uint8_t *at = colon + 1; at < raw.data + raw.len; at++)
        if (strchr("ukh", *at) != NULL)
            text[len++] = (char)*at;
    return (struct bytes){(const uint8_t *)text, text[len - 1] == ':' ? len - 1 : len};
}

static struct event *add_event(struct reader *r, uint32_t name, const struct perf_event *e)
{
    static const char *const clocks[] = {"cpu-clock", "task-clock"};
    void *events = r->events;
    r->too_many_events |= r->event_count >= r->limits->max_sample_types;
    r->no_memory |=
        !mem_try_grow(&events, &r->event_capacity, (size_t)r->event_count + 1, sizeof *r->events, UINT32_MAX);
    r->events = events;
    if (r->too_many_events || r->no_memory)
        return NULL;
    struct event *v = &r->events[r->event_count++];
    *v = (struct event){.name = name, .has_period = e->has_period, .first_period = e->has_period ? e->period : 1};
    for (size_t i = 0; i < COUNT_OF(clocks); i++)
        v->is_clock |= starts_with(builder_string_get(r->builder, name), clocks[i]);
    sample_writer_init(&v->samples, r->builder);
    observation_writer_init(&v->observations, r->builder);
    return v;
}

static struct event *find_event(struct reader *r, const struct perf_event *e)
{
    char text[256];
    const uint32_t name = builder_string(r->builder, event_name(e->name, text, sizeof text));
    for (uint32_t i = 0; i < r->event_count; i++)
        if (r->events[i].name == name)
            return &r->events[i];
    return builder_failed(r->builder) ? NULL : add_event(r, name, e);
}

static uint32_t attribute(struct reader *r, const char *key, struct value value)
{
    return builder_attribute(r->builder, builder_string_text(r->builder, key), 0, &value);
}

static uint32_t thread_attributes(struct reader *r, const struct perf_event *e)
{
    uint32_t list[4], n = 0;
    if (e->comm.len > 0)
        list[n++] = attribute(r, "thread.name", value_string(e->comm));
    list[n++] = attribute(r, "thread.id", value_int(e->tid));
    if (e->has_pid)
        list[n++] = attribute(r, "process.pid", value_int(e->pid));
    if (e->has_cpu)
        list[n++] = attribute(r, "cpu.logical_number", value_int(e->cpu));
    return builder_attribute_set(r->builder, list, n);
}

static void note_time(struct reader *r, uint64_t nanos)
{
    const bool first = r->report->samples == 0;
    r->first_nanos = first || nanos < r->first_nanos ? nanos : r->first_nanos;
    r->last_nanos = first || nanos > r->last_nanos ? nanos : r->last_nanos;
}

static void begin_sample(struct reader *r, const struct perf_event *e)
{
    struct perf_frame only;
    end_sample(r);
    r->event = find_event(r, e);
    if (r->event == NULL)
        return;
    r->attribute_set = thread_attributes(r, e);
    r->value = e->has_period ? e->period : 1;
    if (e->has_time)
        note_time(r, e->time_nanos);
    if (e->rest.len > 0 && e->rest.data[e->rest.len - 1] == ')' && perf_parse_frame(e->rest, &only))
        r->frame = e->rest;
}

// --- lines ---

static bool read_frame(struct reader *r, struct bytes line)
{
    struct perf_frame parsed;
    if (r->event == NULL)
        return false;
    if (perf_parse_frame(line, &parsed)) {
        end_frame(r);
        r->frame = text_trim(line);
        return true;
    }
    return r->frame.len > 0 && r->source_file.len == 0 && perf_parse_source(line, &r->source_file, &r->source_line);
}

// "a 1 1.0: PERF_RECORD_COMM: ..." is asked for with --show-task-events and the like.
static bool is_record(struct bytes line)
{
    return memmem(line.data, line.len, " PERF_RECORD_", 13) != NULL;
}

static void pass_over(struct reader *r, bool is_comment, uint64_t number, const char *why)
{
    if (is_comment)
        r->report->comment_lines++;
    else
        decode_bad_line(r->report, number, "%s", why);
}

static void read_line(struct reader *r, uint64_t number, struct bytes line)
{
    struct perf_event event;
    const bool is_empty = text_trim(line).len == 0, starts_blank = !is_empty && text_is_blank(line.data[0]);
    if (is_empty)
        end_sample(r);
    if (is_empty || line.data[0] == '#')
        r->report->comment_lines++;
    else if (line.data[0] != '\t' && perf_parse_event(line, starts_blank, &event) && !is_record(line))
        begin_sample(r, &event);
    else if (!starts_blank) {
        end_sample(r);
        pass_over(r, is_record(line), number, "it is no event");
    } else if (!read_frame(r, line)) {
        pass_over(r, is_record(line), number, "it is no frame of a sample");
    }
}

static enum err_code check_reader(const struct reader *r, uint64_t number, struct err *e)
{
    if (r->no_memory)
        return err_set(e, ERR_MEMORY, "out of memory at line %" PRIu64, number);
    if (r->too_many_events)
        return err_set(e, ERR_LIMIT, "max_sample_types: line %" PRIu64 " has one event more than the %u allowed",
                       number, r->limits->max_sample_types);
    if (r->report->samples > r->limits->max_samples)
        return err_set(e, ERR_LIMIT, "max_samples: at line %" PRIu64 " there are more than the %u allowed", number,
                       r->limits->max_samples);
    return ERR_OK;
}

static enum err_code read_lines(struct reader *r, struct bytes data, struct err *e)
{
    struct text_lines lines;
    struct bytes line;
    enum err_code code = text_lines_init(&lines, data, r->limits->max_line_bytes, r->report, e);
    while (code == ERR_OK && !builder_failed(r->builder) && text_lines_next(&lines, &line)) {
        read_line(r, lines.number, line);
        code = check_reader(r, lines.number, e);
    }
    if (code == ERR_OK) {
        end_sample(r);
        code = check_reader(r, lines.number, e);
    }
    text_lines_fini(&lines);
    return code;
}

// --- profiles ---

static void add_profile(struct reader *r, struct event *v, uint64_t time_nanos)
{
    const char *unit = v->is_clock && v->has_period ? "nanoseconds" : "count";
    const struct value_type type = {v->name, builder_string_text(r->builder, unit)};
    const struct profile p = {
        .sample_type = type,
        .period_type = type,
        .period = v->first_period > 0 ? v->first_period : 1,
        .time_nanos = time_nanos,
        .duration_nanos = r->last_nanos - r->first_nanos,
        .attribute_set = decode_profile_attributes(r->options, r->builder, NULL, 0),
        .columns = sample_writer_take(&v->samples),
        .observations = observation_writer_take(&v->observations),
    };
    builder_profile(r->builder, &p);
}

static void add_profiles(struct reader *r)
{
    const uint64_t time_nanos = (uint64_t)decode_time(r->options, 0, r->report);
    r->report->sample_types = r->event_count;
    r->report->repaired_utf8 = builder_repaired_strings(r->builder);
    frames_begin(r->builder, r->options);
    for (uint32_t i = 0; i < r->event_count; i++)
        add_profile(r, &r->events[i], time_nanos);
}

static enum err_code refuse(const struct reader *r, struct bytes data, struct err *e)
{
    const char *other = pprof_describe_other(data);
    if (r->report->bad_lines == 0)
        return err_set(e, ERR_INVALID, "no samples: it has only comments and empty lines");
    return err_set(e, other != NULL ? ERR_UNSUPPORTED : ERR_INVALID,
                   "no sample of perf script in it: it looks like %s; %s", other != NULL ? other : "nothing known",
                   r->report->first_bad.text);
}

static void reader_fini(struct reader *r)
{
    for (uint32_t i = 0; i < r->event_count; i++) {
        sample_writer_fini(&r->events[i].samples);
        observation_writer_fini(&r->events[i].observations);
    }
    free(r->events);
    frame_stack_fini(&r->stack);
    frame_cache_fini(&r->frames);
    builder_destroy(&r->builder);
}

enum err_code perf_script_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                                 struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original;
    struct reader r = {.options = options, .limits = decode_limits_of(options), .report = report};
    *out = NULL;
    r.builder = builder_create(r.limits->max_batch_bytes);
    frame_stack_init(&r.stack, r.builder, r.limits->max_stack_depth);
    enum err_code code = read_lines(&r, data, e);
    if (code == ERR_OK && report->samples == 0 && !builder_failed(r.builder))
        code = refuse(&r, data, e);
    if (code == ERR_OK) {
        add_profiles(&r);
        code = decode_finish(r.builder, out, report, e);
    }
    reader_fini(&r);
    return code;
}

// --- recognising ---

enum { LINES_LOOKED_AT = 1000 };

// The first line that is no comment is an event with its time.
bool perf_script_recognise(struct bytes data)
{
    struct text_lines lines;
    struct bytes line;
    struct perf_event event;
    bool found = false, go_on = text_lines_peek(&lines, data);
    while (go_on && lines.number < LINES_LOOKED_AT && text_lines_next(&lines, &line)) {
        go_on = text_trim(line).len == 0 || line.data[0] == '#' || is_record(line);
        found = !go_on && perf_parse_event(line, true, &event);
    }
    text_lines_fini(&lines);
    return found;
}
