// SPDX-License-Identifier: Apache-2.0
// The memory map behind old profiles: lines of /proc/self/maps, or shorter ones, "400000-fcb000: /bin/a (@1000) BUILDID".
// Lines "name=value" give what $name stands for in later ones; what else there is is passed over.
#include "base/limits.h"
#include "base/mem.h"
#include "codec/legacy.h"

enum { MAX_VARIABLES = 64 };

struct variable {
    struct bytes name, value;
};

struct maps {
    struct legacy *l;
    struct variable variables[MAX_VARIABLES];
    size_t variable_count;
};

bool legacy_begins_maps(struct bytes line)
{
    return legacy_has(line, "--- Memory map: ---") || legacy_has(line, "MAPPED_LIBRARIES:");
}

// --- lines ---

// "...file.cc:123] text": what a log put before it goes.
static struct bytes without_log_prefix(struct bytes line)
{
    size_t at, digits;
    if (!legacy_find(line, "]", &at) || at + 1 >= line.len || !legacy_is_space(line.data[at + 1]))
        return line;
    for (digits = at; digits > 0 && line.data[digits - 1] >= '0' && line.data[digits - 1] <= '9';)
        digits--;
    if (digits == at || digits < 2 || line.data[digits - 1] != ':' || memchr(line.data, '[', at) != NULL)
        return line;
    return (struct bytes){line.data + at + 2, line.len - at - 2};
}

static const struct variable *variable_at(const struct maps *m, struct bytes text)
{
    for (size_t i = 0; i < m->variable_count; i++) {
        const struct bytes name = m->variables[i].name;
        if (text.len >= name.len && memcmp(text.data, name.data, name.len) == 0)
            return &m->variables[i];
    }
    return NULL;
}

static void write_expanded(const struct maps *m, struct bytes line, struct buf *out)
{
    while (line.len > 0 && buf_ok(out)) {
        const uint8_t *dollar = memchr(line.data, '$', line.len);
        const size_t plain = dollar != NULL ? (size_t)(dollar - line.data) : line.len;
        buf_add(out, line.data, plain);
        line = (struct bytes){line.data + plain, line.len - plain};
        if (line.len == 0)
            return;
        const struct bytes behind = {line.data + 1, line.len - 1};
        const struct variable *v = variable_at(m, behind);
        const size_t taken = v != NULL ? 1 + v->name.len : 1;
        buf_add(out, v != NULL ? v->value.data : line.data, v != NULL ? v->value.len : 1);
        line = (struct bytes){line.data + taken, line.len - taken};
    }
}

static bool fail_copy(struct legacy *l, size_t len)
{
    const size_t max = l->limits->max_batch_bytes;
    if (max == 0 || len + l->texts.total_bytes < max)
        return legacy_no_memory(l);
    return legacy_fail(l, ERR_LIMIT,
                       "max_batch_bytes: the names that the memory map sets make it longer than the %zu "
                       "bytes allowed",
                       max);
}

// The line with its variables replaced. What becomes longer than a path can be is left as it is. All of them lie in one
// arena with a bound, so that few bytes cannot become many.
static bool expand(const struct maps *m, struct bytes *line)
{
    struct buf out;
    bool good = true;
    if (m->variable_count == 0 || line->len == 0 || memchr(line->data, '$', line->len) == NULL)
        return true;
    buf_init(&out, 2 * LIMIT_PATH_BYTES);
    write_expanded(m, *line, &out);
    if (buf_ok(&out))
        good = arena_try_copy(&m->l->texts, buf_bytes(&out), line) || fail_copy(m->l, out.len);
    else
        good = out.too_large || legacy_no_memory(m->l);
    buf_fini(&out);
    return good;
}

static void add_variable(struct maps *m, struct bytes line)
{
    size_t at;
    if (!legacy_find(line, "=", &at))
        return;
    const struct bytes name = legacy_trim((struct bytes){line.data, at});
    if (name.len == 0 || memchr(name.data, '$', name.len) != NULL) // with a $ every $ of a line may cost a whole name
        return;
    if (m->variable_count == MAX_VARIABLES) {
        decode_bad_line(m->l->report, m->l->lines.number, "the memory map sets more than %d names", MAX_VARIABLES);
        return;
    }
    m->variables[m->variable_count++] =
        (struct variable){name, legacy_trim((struct bytes){line.data + at + 1, line.len - at - 1})};
}

// --- mappings ---

static bool all_of(struct bytes word, const char *set)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.data[i] == '\0' || strchr(set, word.data[i]) == NULL)
            return false;
    return word.len > 0;
}

static bool is_hex(struct bytes word)
{
    return all_of(word, "0123456789abcdefABCDEF");
}

// A word of one hex number.
static bool hex_word(struct bytes word, uint64_t *out)
{
    bool too_large;
    return legacy_take_hex(&word, out, &too_large) && word.len == 0 && !too_large;
}

static bool is_device(struct bytes word)
{
    size_t at;
    return legacy_find(word, ":", &at) && is_hex((struct bytes){word.data, at}) &&
           is_hex((struct bytes){word.data + at + 1, word.len - at - 1});
}

// "400000-fcb000", "0x400000 0xfcb000:".
static bool take_range(struct bytes *line, struct legacy_mapping *m)
{
    bool too_large[2];
    *line = legacy_trim(*line);
    (void)legacy_take(line, "0x");
    if (!legacy_take_hex(line, &m->start, &too_large[0]) || line->len == 0)
        return false;
    if (!legacy_take(line, "-") && !legacy_is_space(*line->data))
        return false;
    *line = legacy_trim(*line);
    (void)legacy_take(line, "0x");
    if (!legacy_take_hex(line, &m->limit, &too_large[1]))
        return false;
    (void)legacy_take(line, ":");
    return !too_large[0] && !too_large[1] && (line->len == 0 || legacy_is_space(*line->data));
}

// "OFFSET DEVICE INODE FILE" of /proc/self/maps, the offset perhaps missing. False = it is not that.
static bool take_proc(struct bytes line, struct legacy_mapping *m)
{
    struct bytes word = legacy_take_word(&line);
    if (hex_word(word, &m->offset))
        word = legacy_take_word(&line);
    if (!is_device(word) || !all_of(legacy_take_word(&line), "0123456789"))
        return false;
    m->file = legacy_take_word(&line);
    return true;
}

// "FILE (@OFFSET) BUILDID", each perhaps missing.
static void take_brief(struct bytes line, struct legacy_mapping *m)
{
    m->offset = 0;
    m->file = legacy_take_word(&line);
    struct bytes word = legacy_take_word(&line), offset = word;
    if (legacy_take(&offset, "(@") && offset.len > 1 && offset.data[offset.len - 1] == ')') {
        offset.len--;
        if (hex_word(offset, &m->offset))
            word = legacy_take_word(&line);
    }
    if (is_hex(word))
        m->build_id = word;
}

// False = it is no mapping. *wanted: code can run in it.
static bool parse_mapping(struct bytes line, struct legacy_mapping *m, bool *wanted)
{
    *m = (struct legacy_mapping){0};
    if (!take_range(&line, m))
        return false;
    struct bytes rest = line;
    const struct bytes permissions = legacy_take_word(&rest);
    const bool has_permissions = all_of(permissions, "-rwxps");
    line = has_permissions ? rest : line;
    *wanted = !has_permissions || memchr(permissions.data, 'x', permissions.len) != NULL;
    if (!take_proc(line, m))
        take_brief(line, m);
    return true;
}

static bool add_mapping(struct legacy *l, const struct legacy_mapping *m)
{
    void *mappings = l->mappings;
    if (!mem_try_grow(&mappings, &l->mapping_capacity, l->mapping_count + 1, sizeof *m, UINT32_MAX - 2))
        return legacy_no_memory(l);
    l->mappings = mappings;
    l->mappings[l->mapping_count++] = *m;
    return true;
}

bool legacy_read_maps(struct legacy *l)
{
    struct maps m = {.l = l};
    struct bytes line;
    while (legacy_line(l, &line)) {
        struct legacy_mapping mapping;
        bool wanted;
        line = without_log_prefix(line);
        if (!expand(&m, &line))
            return false;
        if (!parse_mapping(line, &mapping, &wanted))
            add_variable(&m, line);
        else if (wanted && !add_mapping(l, &mapping))
            return false;
    }
    return l->code == ERR_OK && legacy_settle(l);
}

bool legacy_read_maps_section(struct legacy *l, struct bytes line)
{
    while (!legacy_begins_maps(line) && legacy_line(l, &line))
        ;
    return legacy_read_maps(l);
}
