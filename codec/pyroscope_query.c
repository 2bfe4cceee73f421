// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope_query.h"

#include "codec/json.h"
#include "codec/text_lines.h"

#include <strings.h>

enum { DEFAULT_SAMPLE_RATE = 100, MAX_SAMPLE_RATE = 1000000000 };

static const struct {
    const char *name;
    enum pyroscope_body body;
} body_names[] = {
    {"pprof", PYROSCOPE_BODY_PPROF},   {"jfr", PYROSCOPE_BODY_JFR},
    {"folded", PYROSCOPE_BODY_FOLDED}, {"groups", PYROSCOPE_BODY_FOLDED},
    {"lines", PYROSCOPE_BODY_LINES},   {"trie", PYROSCOPE_BODY_TRIE},
    {"tree", PYROSCOPE_BODY_TREE},     {"speedscope", PYROSCOPE_BODY_SPEEDSCOPE},
};

// --- name ---

// From 1, in characters, as a person counts them.
static size_t character_number(struct bytes text, const uint8_t *at)
{
    size_t n = 1;
    for (const uint8_t *c = text.data; c < at; c++)
        n += (*c & 0xc0) != 0x80;
    return n;
}

static enum err_code name_bad(struct bytes text, const uint8_t *at, const char *what, struct err *e)
{
    return err_set(e, ERR_INVALID, "name: %s at character %zu", what, character_number(text, at));
}

static struct bytes between(const uint8_t *start, const uint8_t *end)
{
    return text_trim((struct bytes){start, (size_t)(end - start)});
}

static const uint8_t *find_byte(const uint8_t *at, const uint8_t *end, char c)
{
    const uint8_t *found = at == end ? NULL : memchr(at, c, (size_t)(end - at));
    return found != NULL ? found : end;
}

static enum err_code check_controls(struct bytes text, struct bytes part, struct err *e)
{
    for (size_t i = 0; i < part.len; i++) {
        if (part.data[i] < ' ' || part.data[i] == 0x7f)
            return err_set(e, ERR_INVALID, "name: the control character 0x%02x at character %zu", part.data[i],
                           character_number(text, part.data + i));
    }
    return ERR_OK;
}

static enum err_code check_label(struct bytes text, const struct pyroscope_labels *labels, struct bytes key,
                                 struct bytes value, struct err *e)
{
    if (key.len > PYROSCOPE_MAX_LABEL_NAME_BYTES)
        return err_set(e, ERR_INVALID, "name: the label name at character %zu has %zu bytes, allowed are %d",
                       character_number(text, key.data), key.len, PYROSCOPE_MAX_LABEL_NAME_BYTES);
    if (value.len > PYROSCOPE_MAX_LABEL_VALUE_BYTES)
        return err_set(e, ERR_INVALID, "name: the value of the label at character %zu has %zu bytes, allowed are %d",
                       character_number(text, key.data), value.len, PYROSCOPE_MAX_LABEL_VALUE_BYTES);
    if (labels->count >= PYROSCOPE_MAX_LABELS)
        return err_set(e, ERR_INVALID, "name: at least %d labels, allowed are %d", PYROSCOPE_MAX_LABELS + 1,
                       PYROSCOPE_MAX_LABELS);
    return check_controls(text, key, e);
}

// pair: what stands between two commas. Nothing at all is passed over.
static enum err_code add_pair(struct bytes text, struct bytes pair, struct pyroscope_labels *labels, struct err *e)
{
    const uint8_t *end = pair.data + pair.len, *equals = find_byte(pair.data, end, '=');
    const struct bytes key = between(pair.data, equals);
    if (pair.len == 0)
        return ERR_OK;
    if (equals == end)
        return name_bad(text, pair.data, "no '=' in the label", e);
    if (key.len == 0)
        return name_bad(text, equals, "no label name before the '='", e);
    const struct bytes value = between(equals + 1, end);
    const enum err_code code = value.len == 0 ? ERR_OK : check_label(text, labels, key, value, e);
    if (code == ERR_OK && value.len != 0 && !pyroscope_labels_add(labels, key, value))
        return err_set(e, ERR_MEMORY, "name: out of memory for %zu labels", labels->count + 1);
    return code;
}

static enum err_code parse_labels(struct bytes text, const uint8_t *open, struct pyroscope_labels *labels,
                                  struct err *e)
{
    const uint8_t *close = find_byte(open, text.data + text.len, '}');
    if (close == text.data + text.len)
        return name_bad(text, open, "no '}' for the '{'", e);
    enum err_code code = ERR_OK;
    for (const uint8_t *at = open + 1; code == ERR_OK && at < close;) {
        const uint8_t *end = find_byte(at, close, ',');
        code = add_pair(text, between(at, end), labels, e);
        at = end < close ? end + 1 : close;
    }
    return code;
}

enum err_code pyroscope_name_parse(struct bytes name, struct bytes *app_out, struct pyroscope_labels *labels,
                                   struct err *e)
{
    *app_out = (struct bytes){0};
    if (name.len == 0)
        return err_set(e, ERR_INVALID, "name: it is missing: send name=APP or name=APP{label=value}");
    const uint8_t *end = name.data + name.len, *open = find_byte(name.data, end, '{');
    *app_out = between(name.data, open);
    enum err_code code = check_controls(name, *app_out, e);
    if (code == ERR_OK && open < end)
        code = parse_labels(name, open, labels, e);
    if (code == ERR_OK && app_out->len == 0 && pyroscope_labels_find(labels, "service_name").len == 0 &&
        pyroscope_labels_find(labels, "__name__").len == 0)
        code = name_bad(name, open, "no application", e);
    return code;
}

// --- percent-encoding ---

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (uint8_t)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t decode_into(struct bytes text, uint8_t *to)
{
    const uint8_t *start = to;
    for (size_t i = 0; i < text.len; i++) {
        const bool escape = text.data[i] == '%' && text.len - i > 2;
        const int high = escape ? hex_digit(text.data[i + 1]) : -1, low = escape ? hex_digit(text.data[i + 2]) : -1;
        const bool good = high >= 0 && low >= 0;
        *to++ = (uint8_t)(good ? high << 4 | low : text.data[i] == '+' ? ' ' : text.data[i]);
        i += good ? 2 : 0;
    }
    return (size_t)(to - start);
}

static bool decode_text(struct arena *a, struct bytes text, struct bytes *out)
{
    uint8_t *to = arena_try_alloc(a, text.len + 1);
    if (to == NULL)
        return false;
    *out = (struct bytes){to, decode_into(text, to)};
    return true;
}

// --- the parameters ---

enum parameter { NAME, FROM, UNTIL, SAMPLE_RATE, SPY, UNITS, AGGREGATION, FORMAT, PARAMETERS };

static const char *const parameter_names[PARAMETERS] = {
    [NAME] = "name",     [FROM] = "from",
    [UNTIL] = "until",   [SPY] = "spyName",
    [UNITS] = "units",   [AGGREGATION] = "aggregationType",
    [FORMAT] = "format", [SAMPLE_RATE] = "sampleRate",
};

// One "key=value"; the first of a key counts.
static bool take_parameter(struct arena *a, struct bytes pair, struct bytes *values)
{
    const uint8_t *end = pair.data + pair.len, *equals = find_byte(pair.data, end, '=');
    const struct bytes key = {pair.data, (size_t)(equals - pair.data)};
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (!bytes_equal_text(key, parameter_names[i]) || values[i].data != NULL)
            continue;
        const uint8_t *value = equals < end ? equals + 1 : end;
        return decode_text(a, (struct bytes){value, (size_t)(end - value)}, &values[i]);
    }
    return true;
}

static bool take_parameters(struct arena *a, struct bytes query, struct bytes *values)
{
    const uint8_t *end = query.data + query.len;
    for (const uint8_t *at = query.data; at < end;) {
        const uint8_t *stop = find_byte(at, end, '&');
        if (!take_parameter(a, (struct bytes){at, (size_t)(stop - at)}, values))
            return false;
        at = stop < end ? stop + 1 : end;
    }
    return true;
}

static void read_sample_rate(struct bytes text, struct pyroscope_query *q)
{
    int64_t rate;
    q->has_sample_rate = json_to_int64(text_trim(text), &rate) && rate >= 0 && rate <= MAX_SAMPLE_RATE;
    q->sample_rate = q->has_sample_rate ? rate : DEFAULT_SAMPLE_RATE;
}

static void read_format(struct bytes text, struct pyroscope_query *q)
{
    for (size_t i = 0; text.len != 0 && i < COUNT_OF(body_names); i++) {
        if (text.len == strlen(body_names[i].name) &&
            strncasecmp((const char *)text.data, body_names[i].name, text.len) == 0) {
            q->format = body_names[i].body;
            return;
        }
    }
    q->format_text = text;
}

static void read_times(struct bytes from, struct bytes until, int64_t now, struct pyroscope_query *q)
{
    bool from_repaired, until_repaired;
    q->from_nanos = pyroscope_time_parse(from, now, &from_repaired);
    q->until_nanos = pyroscope_time_parse(until, now, &until_repaired);
    if (q->from_nanos != 0 && q->until_nanos != 0 && q->from_nanos > q->until_nanos) {
        q->until_nanos = 0;
        until_repaired = true;
    }
    q->repaired_times = (uint64_t)from_repaired + until_repaired;
}

enum err_code pyroscope_query_parse(struct bytes query, int64_t now_nanos, struct pyroscope_query *out, struct err *e)
{
    struct bytes values[PARAMETERS] = {0};
    struct pyroscope_labels *labels = &out->series.labels;
    *out = (struct pyroscope_query){0};
    pyroscope_labels_init(labels);
    if (query.len != 0 && !take_parameters(&labels->texts, query, values))
        return err_set(e, ERR_MEMORY, "out of memory for a query of %zu bytes", query.len);
    read_times(values[FROM], values[UNTIL], now_nanos, out);
    read_sample_rate(values[SAMPLE_RATE], out);
    read_format(values[FORMAT], out);
    out->series.spy = values[SPY];
    out->units = values[UNITS];
    out->aggregation_type = values[AGGREGATION];
    return pyroscope_name_parse(values[NAME], &out->series.app_name, labels, e);
}

void pyroscope_query_fini(struct pyroscope_query *q)
{
    pyroscope_labels_fini(&q->series.labels);
}
