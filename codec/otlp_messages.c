// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_messages.h"

#include "base/mem.h"
#include "codec/compress.h"
#include "codec/otlp_decode_layout.h"
#include "codec/pprof.h"
#include "profile/edit.h"
#include "profile/merge.h"

#include <inttypes.h>

enum { PREFIX_BYTES = 4 };

void otlp_messages_init(struct otlp_messages *m, const struct decode_options *options, struct err *e)
{
    *m = (struct otlp_messages){.options = options, .e = e};
}

struct otlp_limits otlp_limits_of(const struct decode_options *options)
{
    const struct decode_limits *l = decode_limits_of(options);
    struct otlp_limits limits = otlp_default_limits;
    limits.max_samples = l->max_samples;
    limits.max_stack_depth = l->max_stack_depth;
    limits.max_batch_bytes = l->max_batch_bytes;
    return limits;
}

enum err_code otlp_layout_may_come(const struct otlp_layout_finding *found, const struct decode_options *options,
                                   struct err *e)
{
    if (options->layouts == NULL || !options->layouts->refused[found->layout])
        return ERR_OK;
    return err_set(
        e, ERR_INVALID,
        "the request has the layout %s of OTLP profiles (%s), which is not taken here; %ssee the key layouts",
        otlp_layout_names[found->layout], found->evidence,
        found->layout == OTLP_LAYOUT_CURRENT ? "" : "upgrade the sender, or ");
}

enum err_code otlp_admit_layout(struct bytes request, const struct decode_options *options,
                                struct otlp_layout_finding *out, struct err *e)
{
    const struct otlp_layout_rules *rules = options->layouts;
    *out = (struct otlp_layout_finding){.layout = OTLP_LAYOUT_CURRENT, .evidence = "it is empty"};
    if (request.len == 0)
        return ERR_OK;
    enum err_code code = otlp_layout_find(request, rules == NULL ? NULL : &rules->hints, out, e);
    return code == ERR_OK ? otlp_layout_may_come(out, options, e) : code;
}

static enum err_code decode_one(struct otlp_messages *m, struct bytes request, struct batch **out)
{
    const struct otlp_limits limits = otlp_limits_of(m->options);
    struct otlp_rejected rejected = {0}; // of this one: another may be without any profile
    enum err_code code = otlp_decode_layout(request, m->layout.layout, &limits, out,
                                            m->options->keep_good_profiles ? &rejected : NULL, m->e);
    if (m->rejected.profiles == 0)
        m->rejected = rejected;
    else
        m->rejected.profiles += rejected.profiles;
    return code;
}

// From the second one on they are copied into a builder, whose maximum holds for all of them.
static enum err_code join(struct otlp_messages *m, struct batch *b)
{
    if (m->builder == NULL) {
        m->builder = builder_create(decode_limits_of(m->options)->max_batch_bytes);
        if (m->builder == NULL)
            return err_set(m->e, ERR_MEMORY, "out of memory while joining OTLP requests");
        builder_add_batch(m->builder, m->first);
        batch_unref(&m->first);
    }
    builder_add_batch(m->builder, b);
    return ERR_OK; // its failure sticks, builder_finish tells
}

enum err_code otlp_messages_add(struct otlp_messages *m, struct bytes request)
{
    struct otlp_layout_finding found = m->layout;
    if (m->code == ERR_OK && request.len > 0)
        m->code = otlp_admit_layout(request, m->options, &found, m->e);
    return m->code != ERR_OK || request.len == 0 ? m->code : otlp_messages_add_known(m, request, &found);
}

enum err_code otlp_messages_add_known(struct otlp_messages *m, struct bytes request,
                                      const struct otlp_layout_finding *layout)
{
    struct batch *b;
    uint32_t max_samples = decode_limits_of(m->options)->max_samples;
    m->layout = *layout;
    if (m->code != ERR_OK || request.len == 0 || (m->code = decode_one(m, request, &b)) != ERR_OK)
        return m->code;
    m->samples += b->sample_count;
    if (m->samples > max_samples) {
        m->code = err_set(m->e, ERR_LIMIT,
                          "the requests of this file have %" PRIu64 " samples so far, max_samples "
                          "allows %" PRIu32,
                          m->samples, max_samples);
    } else if (m->first == NULL && m->builder == NULL) {
        m->first = batch_ref(b);
    } else {
        m->code = join(m, b);
    }
    batch_unref(&b);
    return m->code;
}

// --- the options' attributes ---

static bool is_among(struct bytes key, const struct key_value *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (bytes_equal(key, list[i].key))
            return true;
    return false;
}

struct attribute_setter {
    const struct decode_options *options;
    struct key_value *room; // of the list made last
};

// The resource's own, but for those of the same keys, and the options'.
static enum err_code combine(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part, struct err *e)
{
    struct attribute_setter *s = arg;
    const struct decode_options *o = s->options;
    uint32_t count = 0;
    (void)resource;
    (void)scope;
    free(s->room);
    s->room = mem_try_array((size_t)part->count + o->resource_attribute_count, sizeof *s->room);
    if (s->room == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while setting resource attributes");
    for (uint32_t i = 0; i < part->count; i++)
        if (!is_among(part->list[i].key, o->resource_attributes, o->resource_attribute_count))
            s->room[count++] = part->list[i];
    memcpy(s->room + count, o->resource_attributes, o->resource_attribute_count * sizeof *s->room);
    part->list = s->room;
    part->count = count + o->resource_attribute_count;
    return ERR_OK;
}

enum err_code otlp_set_resource_attributes(const struct decode_options *options, struct batch **b, struct err *e)
{
    struct attribute_setter s = {.options = options};
    const struct part_attributes_change change = {.change = combine, .arg = &s};
    if (options->resource_attribute_count == 0)
        return ERR_OK;
    enum err_code rc = batch_change_part_attributes(b, &change, e);
    free(s.room);
    return rc;
}

// --- the options' time ---

struct time_setter {
    const struct decode_options *options;
    struct decode_report *report;
};

// Only what is 0 or asked for is touched: OTLP says its unit, and tests may live in 1970.
static bool set_time(void *arg, struct profile *p)
{
    struct time_setter *s = arg;
    if (p->time_nanos != 0 && !s->options->force_fallback_time)
        return false;
    uint64_t time = (uint64_t)decode_time(s->options, (int64_t)p->time_nanos, s->report);
    bool changed = time != p->time_nanos;
    p->time_nanos = time;
    return changed;
}

static enum err_code set_times(const struct otlp_messages *m, struct batch **b, struct decode_report *report)
{
    struct time_setter s = {m->options, report};
    return m->options->fallback_time_nanos == 0 ? ERR_OK : batch_change_profiles(b, set_time, &s, m->e);
}

// No request at all is one with nothing in it.
static enum err_code decode_none(struct otlp_messages *m, struct batch **out)
{
    enum err_code code = otlp_admit_layout((struct bytes){NULL, 0}, m->options, &m->layout, m->e);
    return code == ERR_OK ? decode_one(m, (struct bytes){NULL, 0}, out) : code;
}

enum err_code otlp_messages_finish(struct otlp_messages *m, struct batch **out, struct decode_report *report)
{
    struct batch *b = m->first;
    m->first = NULL;
    if (m->code == ERR_OK && m->builder != NULL)
        m->code = builder_finish(m->builder, &b, m->e);
    if (m->code == ERR_OK && b == NULL)
        m->code = decode_none(m, &b);
    if (m->code == ERR_OK)
        m->code = otlp_set_resource_attributes(m->options, &b, m->e);
    if (m->code == ERR_OK)
        m->code = set_times(m, &b, report);
    report->layout = m->layout; // also of one that cannot be read
    if (m->code == ERR_OK) {
        report->samples = b->sample_count;
        report->sample_types = b->profile_count;
        report->repaired_utf8 += m->repaired_strings;
        report->rejected_profiles = m->rejected.profiles;
        report->first_bad = m->rejected.profiles > 0 ? m->rejected.first : report->first_bad;
    } else {
        batch_unref(&b);
    }
    builder_destroy(&m->builder);
    *out = b;
    return m->code;
}

enum err_code otlp_request_decode(struct bytes data, const struct otlp_layout_finding *layout,
                                  const struct decode_options *options, struct batch **out,
                                  struct decode_report *report, struct err *e)
{
    struct otlp_messages m;
    otlp_messages_init(&m, options, e);
    (void)!otlp_messages_add_known(&m, data, layout);
    return otlp_messages_finish(&m, out, report);
}

// --- streams ---

static size_t message_len(struct bytes data)
{
    return (size_t)data.data[0] << 24 | (size_t)data.data[1] << 16 | (size_t)data.data[2] << 8 | data.data[3];
}

static bool is_stream(struct bytes data)
{
    if (data.len <= PREFIX_BYTES)
        return false;
    struct bytes message = {data.data + PREFIX_BYTES, message_len(data)};
    return message.len <= data.len - PREFIX_BYTES &&
           (pprof_is_otlp(message) || compression_detect(message) != COMPRESSION_NONE);
}

bool otlp_file_recognise(struct bytes data)
{
    return pprof_is_otlp(data) || is_stream(data);
}

// Nothing that begins so is a request in protobuf.
static bool is_json(struct bytes message)
{
    return message.len != 0 && message.data[0] == '{';
}

static enum err_code add_message(struct otlp_messages *m, struct bytes message, size_t *inflated, struct err *e)
{
    enum compression compression = compression_detect(message);
    if (compression == COMPRESSION_NONE)
        return otlp_messages_add(m, message);
    size_t max = decode_limits_of(m->options)->max_inflated_bytes;
    struct buf raw;
    buf_init(&raw, SIZE_MAX);
    if (max != 0 && *inflated >= max)
        m->code = err_set(e, ERR_LIMIT, "max_inflated_size: the messages have %zu bytes so far, allowed are %zu",
                          *inflated, max);
    else
        m->code = decompress(compression, message, max == 0 ? 0 : max - *inflated, "max_inflated_size", &raw, e);
    *inflated += raw.len;
    if (m->code == ERR_OK)
        m->code = (is_json(buf_bytes(&raw)) ? otlp_messages_add_json : otlp_messages_add)(m, buf_bytes(&raw));
    buf_fini(&raw);
    return m->code;
}

static enum err_code add_stream(struct otlp_messages *m, struct bytes data, struct err *e)
{
    size_t inflated = 0;
    enum err_code rc = ERR_OK;
    for (uint64_t number = 1; data.len != 0 && rc == ERR_OK; number++) {
        size_t len = data.len < PREFIX_BYTES ? 0 : message_len(data);
        if (data.len < PREFIX_BYTES || len > data.len - PREFIX_BYTES) {
            rc = m->code = err_set(e, ERR_INVALID, "the file ends within a message of %zu bytes", len);
        } else {
            rc = add_message(m, (struct bytes){data.data + PREFIX_BYTES, len}, &inflated, e);
            data.data += PREFIX_BYTES + len;
            data.len -= PREFIX_BYTES + len;
        }
        if (rc != ERR_OK)
            err_prefix(e, "message %" PRIu64, number);
    }
    return rc;
}

enum err_code otlp_file_decode(struct bytes data, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e)
{
    struct otlp_messages m;
    otlp_messages_init(&m, options, e);
    if (is_stream(data))
        (void)!add_stream(&m, data, e);
    else
        (void)!otlp_messages_add(&m, data);
    return otlp_messages_finish(&m, out, report);
}
