// SPDX-License-Identifier: Apache-2.0
#include "codec/pyroscope_body.h"

#include "codec/folded.h"
#include "codec/json.h"
#include "codec/pprof_reader.h"
#include "codec/pyroscope_series.h"
#include "codec/speedscope.h"
#include "codec/text_lines.h"

#include <strings.h>

enum {
    MAX_NAMED_TYPES = 64,
    CONFIG_DEPTH = 16,
    PPROF_SAMPLE_TYPE = 1, // fields of Profile
    PPROF_STRING = 6,
    PPROF_LAST_FIELD = 15,
};

static const struct {
    const char *name, *description;
} bodies[] = {
    [PYROSCOPE_BODY_UNSAID] = {"", ""},
    [PYROSCOPE_BODY_PPROF] = {"pprof", "a pprof profile"},
    [PYROSCOPE_BODY_JFR] = {"jfr", "a JFR recording"},
    [PYROSCOPE_BODY_FOLDED] = {"folded", "folded stacks"},
    [PYROSCOPE_BODY_LINES] = {"lines", "lines of stacks"},
    [PYROSCOPE_BODY_TRIE] = {"trie", "a trie"},
    [PYROSCOPE_BODY_TREE] = {"tree", "a tree"},
    [PYROSCOPE_BODY_SPEEDSCOPE] = {"speedscope", "a speedscope file"},
};

const char *pyroscope_body_name(enum pyroscope_body b)
{
    return bodies[b].name;
}

// --- a look at a pprof ---

static bool read_names(struct pprof_reader *p, struct bytes *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t type[2];
        if (!pprof_read_numbers(p, p->header.sample_types.items[i], type, COUNT_OF(type)) ||
            type[0] >= p->header.strings.count)
            return false;
        names[i] = p->header.strings.items[type[0]];
    }
    return true;
}

static struct bytes read_display_name(struct json_reader *j)
{
    struct bytes key, name = {0};
    if (json_peek(j) != JSON_OBJECT || !json_enter_object(j))
        return name;
    while (json_next_member(j, &key))
        if (bytes_equal_text(key, "display-name") && json_peek(j) == JSON_STRING)
            (void)json_string(j, &name);
    return name;
}

// Only whether contentions are those of mutexes hangs on it: a config that is broken loses nobody a profile.
static void apply_config(struct bytes config, struct bytes *names, size_t count, struct arena *texts)
{
    struct json_reader j;
    struct bytes type, display[MAX_NAMED_TYPES] = {0};
    if (config.len == 0)
        return;
    json_reader_init(&j, config, texts, CONFIG_DEPTH);
    if (json_enter_object(&j)) {
        while (json_next_member(&j, &type)) {
            const struct bytes name = read_display_name(&j);
            for (size_t i = 0; name.len != 0 && i < count; i++)
                if (bytes_equal(names[i], type))
                    display[i] = name;
        }
    }
    json_end(&j);
    for (size_t i = 0; json_result(&j, NULL) == ERR_OK && i < count; i++)
        names[i] = display[i].len != 0 ? display[i] : names[i];
}

enum err_code pyroscope_pprof_look(struct bytes inflated, struct bytes config, const struct decode_limits *limits,
                                   struct pyroscope_pprof *out, struct err *e)
{
    struct pprof_reader p = {.limits = limits};
    struct bytes names[MAX_NAMED_TYPES];
    const struct pprof_header *h = &p.header;
    struct arena texts;
    arena_init(&texts, 0);
    *out = (struct pyroscope_pprof){0};
    if (pprof_scan(&p, inflated)) {
        const size_t count = h->sample_types.count < MAX_NAMED_TYPES ? h->sample_types.count : MAX_NAMED_TYPES;
        out->time_nanos = h->time_nanos;
        out->duration_nanos = h->duration_nanos;
        if (read_names(&p, names, count)) {
            const char *plain = pyroscope_profile_type_of(names, count), *shown;
            apply_config(config, names, count, &texts);
            shown = pyroscope_profile_type_of(names, count);
            out->profile_type = shown != NULL ? shown : plain;
        }
    }
    pprof_header_fini(&p.header);
    arena_fini(&texts);
    return p.code != ERR_MEMORY ? ERR_OK : err_set(e, ERR_MEMORY, "out of memory while reading a pprof profile");
}

// --- what it is ---

static bool is_jfr(struct bytes data)
{
    return data.len >= 4 && memcmp(data.data, "FLR\0", 4) == 0;
}

// Whole at its top level, with no field that pprof has not, and with what every pprof has.
static bool is_pprof(struct bytes data)
{
    struct wire_reader r;
    struct wire_field f;
    bool has_type = false, has_string = false, known = true;
    wire_reader_init(&r, data);
    while (known && wire_next(&r, &f)) {
        known = f.number <= PPROF_LAST_FIELD;
        has_type = has_type || (f.number == PPROF_SAMPLE_TYPE && f.type == WIRE_LEN);
        has_string = has_string || (f.number == PPROF_STRING && f.type == WIRE_LEN);
    }
    return r.error == NULL && known && has_type && has_string && !pprof_is_otlp(data);
}

// Text without a signature of something else; lines that say nothing are the reader's to name.
static bool is_plain_text(struct bytes data)
{
    const char *other = pprof_describe_other(data);
    return folded_recognise(data) ||
           (other != NULL && (strcmp(other, "text") == 0 || strcmp(other, "UTF-16 text") == 0));
}

static const char form_data[] = "[object FormData]";

static bool is_form_data(struct bytes data)
{
    return data.len >= sizeof form_data - 1 && memcmp(data.data, form_data, sizeof form_data - 1) == 0;
}

static bool is_form_without_type(struct bytes data)
{
    static const char header[] = "Content-Disposition:";
    if (data.len < 2 || data.data[0] != '-' || data.data[1] != '-')
        return false;
    const uint8_t *line = memchr(data.data, '\n', data.len < 128 ? data.len : 128);
    return line != NULL && (size_t)(data.data + data.len - line) > sizeof header &&
           strncasecmp((const char *)line + 1, header, sizeof header - 1) == 0;
}

enum pyroscope_body pyroscope_body_sniff(struct bytes data)
{
    if (is_jfr(data))
        return PYROSCOPE_BODY_JFR;
    if (is_form_data(data) || is_form_without_type(data))
        return PYROSCOPE_BODY_UNSAID;
    if (is_pprof(data))
        return PYROSCOPE_BODY_PPROF;
    if (speedscope_recognise(data))
        return PYROSCOPE_BODY_SPEEDSCOPE;
    return is_plain_text(data) ? PYROSCOPE_BODY_FOLDED : PYROSCOPE_BODY_UNSAID;
}

enum pyroscope_body pyroscope_body_of_type(struct bytes content_type)
{
    static const char start[] = "binary/octet-stream+";
    const size_t n = sizeof start - 1;
    if (content_type.len <= n || strncasecmp((const char *)content_type.data, start, n) != 0)
        return PYROSCOPE_BODY_UNSAID;
    size_t len = n;
    while (len < content_type.len && content_type.data[len] != ';' && content_type.data[len] != ' ')
        len++;
    for (size_t i = 1; i < COUNT_OF(bodies); i++)
        if (strlen(bodies[i].name) == len - n &&
            strncasecmp(bodies[i].name, (const char *)content_type.data + n, len - n) == 0)
            return (enum pyroscope_body)i;
    return PYROSCOPE_BODY_UNSAID;
}

// --- what to say of it ---

static const char *describe(struct bytes data, enum pyroscope_body sniffed)
{
    if (is_form_without_type(data))
        return "a form: it needs its Content-Type (multipart/form-data; boundary=...) and, gzipped, Content-Encoding";
    if (sniffed != PYROSCOPE_BODY_UNSAID)
        return bodies[sniffed].description;
    const char *other = pprof_describe_other(data);
    return other != NULL ? other : "binary data of no known format";
}

enum err_code pyroscope_body_refuse(struct bytes data, enum pyroscope_body read_as, struct err *e)
{
    const enum pyroscope_body sniffed = pyroscope_body_sniff(data);
    if (is_form_data(data))
        return err_set(e, ERR_INVALID,
                       "the body is the text \"%s\": the client's fetch does not know its FormData; update the SDK "
                       "(@pyroscope/nodejs 0.6.2 and newer send no form)",
                       form_data);
    if (read_as == PYROSCOPE_BODY_UNSAID)
        return err_set(e, ERR_INVALID,
                       "the body looks like %s; say what it is with format=pprof, jfr, folded, lines, trie, tree or "
                       "speedscope",
                       describe(data, sniffed));
    if (sniffed != PYROSCOPE_BODY_UNSAID && sniffed != read_as)
        return err_set(e, ERR_INVALID, "the body looks like %s, but was read as format=%s; send format=%s",
                       bodies[sniffed].description, bodies[read_as].name, bodies[sniffed].name);
    if (e->text[0] != '\0')
        return err_set(e, ERR_INVALID, "%s", e->text);
    return err_set(e, ERR_INVALID, "the body looks like %s, but was read as format=%s", describe(data, sniffed),
                   bodies[read_as].name);
}
