// SPDX-License-Identifier: Apache-2.0
// Folded stacks from a batch: the samples of one sample type, whatever profile they are of. Lines are sorted by their
// bytes and equal ones are added up, so that the same profile always gives the same text.
#include "base/clean_text.h"
#include "base/mem.h"
#include "codec/folded.h"
#include "codec/frame_stack.h"
#include "profile/stack.h"

#include <inttypes.h>

enum { TYPES_NAMED = 10 }; // in an error

struct text_range {
    size_t start, len;
};

struct stack_line {
    const uint8_t *text; // without the count
    size_t len;
    int64_t value;
};

struct writer {
    const struct batch *b;
    const struct dictionary *d;
    struct encode_report *report;
    struct err *e;
    enum err_code code;     // sticks
    struct value_type type; // to be written
    int64_t *values;        // by stack
    bool *is_used;          // by stack
    uint32_t used_count;
    struct text_range *frames; // by location: its text in frame_text; len 0 = not written yet
    struct buf frame_text, line_text;
    uint32_t *locations; // of the stack at hand
    size_t location_capacity;
    struct stack_line *lines;
};

static void fail(struct writer *w, enum err_code code, const char *text)
{
    if (w->code == ERR_OK)
        w->code = err_set(w->e, code, "%s", text);
}

static void fail_memory(struct writer *w)
{
    fail(w, ERR_MEMORY, "out of memory for folded stacks");
}

// --- which samples ---

typedef void profile_fn(void *arg, const struct profile *p);

static void each_profile(const struct batch *b, profile_fn *visit, void *arg)
{
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                visit(arg, &b->resources[r]->scopes[s]->profiles[p]);
}

struct type_search {
    struct writer *w;
    struct bytes wanted; // len 0 = the first
    bool *is_known;      // by string
    bool found;
    struct buf names;
};

static void see_type(void *arg, const struct profile *p)
{
    struct type_search *t = arg;
    const struct bytes name = t->w->d->strings[p->sample_type.type];
    if (!t->found && (t->wanted.len == 0 || bytes_equal(t->wanted, name))) {
        t->found = true;
        t->w->type = p->sample_type;
        t->w->report->sample_type = name;
    }
    if (t->is_known[p->sample_type.type])
        return;
    t->is_known[p->sample_type.type] = true;
    if (t->w->report->sample_types++ >= TYPES_NAMED)
        return;
    buf_add_text(&t->names, t->names.len > 0 ? ", " : "");
    clean_text_add(&t->names, name);
}

// The type to write. False: failed, or there is no profile at all.
static bool find_type(struct writer *w, struct bytes wanted)
{
    struct type_search t = {.w = w, .wanted = wanted, .is_known = mem_try_array(w->d->string_count, sizeof(bool))};
    if (t.is_known == NULL) {
        fail_memory(w);
        return false;
    }
    memset(t.is_known, 0, w->d->string_count);
    buf_init(&t.names, ERR_TEXT_MAX);
    each_profile(w->b, see_type, &t);
    if (!t.found && w->b->profile_count > 0)
        w->code = err_set(w->e, ERR_INVALID, "there is no sample type %.*s; there are: %.*s", BYTES_PRINT(wanted),
                          BYTES_PRINT(buf_bytes(&t.names)));
    free(t.is_known);
    buf_fini(&t.names);
    return t.found;
}

// --- values ---

// Values that add up, or one for each timestamp.
static int64_t sample_value(struct writer *w, const struct observations *o, uint32_t i)
{
    uint32_t start, count, stamps;
    int64_t sum = 0;
    observations_timestamps(o, i, &start, &stamps);
    w->report->lost += stamps;
    observations_values(o, i, &start, &count);
    if (count == 0)
        return stamps;
    for (uint32_t v = start; v < start + count; v++)
        if (__builtin_add_overflow(sum, o->values[v], &sum))
            fail(w, ERR_LIMIT, "the values of a sample add up to more than 64 bits hold");
    return sum;
}

static void add_sample(struct writer *w, const struct profile *p, uint32_t i)
{
    const struct columns *c = p->columns;
    const int64_t value = sample_value(w, p->observations, i);
    const uint32_t stack = c->stacks[i];
    if (__builtin_add_overflow(w->values[stack], value, &w->values[stack]))
        fail(w, ERR_LIMIT, "the values of a stack add up to more than 64 bits hold");
    w->used_count += !w->is_used[stack];
    w->is_used[stack] = true;
    w->report->lost += c->attribute_sets != NULL ? w->d->attribute_sets[c->attribute_sets[i]].count : 0;
    w->report->lost += c->links != NULL && c->links[i] != 0;
}

static void add_profile(void *arg, const struct profile *p)
{
    struct writer *w = arg;
    if (p->sample_type.type != w->type.type || p->sample_type.unit != w->type.unit)
        return;
    w->report->profiles++;
    for (uint32_t i = 0; i < p->columns->sample_count; i++)
        add_sample(w, p, i);
}

// --- frames ---

static struct bytes base_name(struct bytes path)
{
    const uint8_t *slash = path.len > 0 ? memrchr(path.data, '/', path.len) : NULL;
    if (slash == NULL)
        return path;
    return (struct bytes){slash + 1, (size_t)(path.data + path.len - slash) - 1};
}

static bool is_blank_or_control(uint8_t c)
{
    return c <= ' ' || c == 0x7f;
}

static bool is_blank(struct bytes name)
{
    for (size_t i = 0; i < name.len; i++)
        if (!is_blank_or_control(name.data[i]))
            return false;
    return true;
}

// What would end the frame or the line is replaced.
static void put_name(struct buf *to, struct bytes name)
{
    if (is_blank(name))
        name = BYTES_LITERAL(FRAME_UNKNOWN);
    if (!buf_reserve(to, name.len))
        return;
    for (size_t i = 0; i < name.len; i++) {
        const uint8_t c = name.data[i];
        to->data[to->len++] = c == ';' ? '|' : is_blank_or_control(c) ? ' ' : c;
    }
}

static struct bytes function_name(const struct dictionary *d, uint32_t function)
{
    const struct batch_function *f = &d->functions[function];
    return d->strings[f->name != 0 ? f->name : f->system_name != 0 ? f->system_name : f->filename];
}

// "libc.so.6+0x1f2e", "0x1f2e", "libc.so.6", "[unknown]": a location without functions.
static void put_address(struct buf *to, const struct dictionary *d, const struct batch_location *l)
{
    const struct bytes module = base_name(d->strings[d->mappings[l->mapping].filename]);
    if (module.len > 0 || l->address == 0)
        put_name(to, module);
    if (l->address != 0)
        buf_add_format(to, "%s0x%" PRIx64, module.len > 0 ? "+" : "", l->address);
}

// Inlined calls are frames of their own; the caller comes first.
static struct bytes frame_text(struct writer *w, uint32_t location)
{
    const struct batch_location *l = &w->d->locations[location];
    struct text_range *at = &w->frames[location];
    struct buf *to = &w->frame_text;
    if (at->len == 0) {
        at->start = to->len;
        if (l->line_count == 0)
            put_address(to, w->d, l);
        for (uint32_t i = l->line_count; i-- > 0;) {
            put_name(to, function_name(w->d, w->d->lines[l->line_start + i].function));
            if (i > 0)
                buf_add_byte(to, ';');
        }
        at->len = buf_ok(to) ? to->len - at->start : 0;
    }
    return at->len > 0 ? (struct bytes){to->data + at->start, at->len} : (struct bytes){0};
}

// --- lines ---

// The locations of a stack, leaf first, in w->locations.
static uint32_t read_stack(struct writer *w, uint32_t stack)
{
    const uint32_t depth = stack_depth(w->d, stack);
    struct stack_reader r;
    void *locations = w->locations;
    if (!mem_try_grow(&locations, &w->location_capacity, depth, sizeof *w->locations, UINT32_MAX))
        fail_memory(w);
    w->locations = locations;
    stack_reader_init(&r, w->d, stack);
    for (uint32_t i = 0; w->code == ERR_OK && stack_next(&r, &w->locations[i]);)
        i++;
    return w->code == ERR_OK ? depth : 0;
}

// Would a reader take its start for a comment, or pass over it as a byte order mark?
static bool needs_blank_before(struct bytes text)
{
    static const char *const starts[] = {"#", "//", "\xef\xbb\xbf"};
    for (size_t i = 0; i < COUNT_OF(starts); i++)
        if (text.len >= strlen(starts[i]) && memcmp(text.data, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

// No reader shall take the end of the last frame for a count.
static void guard_end(struct buf *to, size_t start)
{
    const struct bytes text = {to->data + start, to->len - start};
    const size_t count = folded_count_start(text);
    if (count > 0)
        to->data[start + count - 1] = '_';
}

// A reader passes over blanks at both ends of a stack.
static void put_root(struct buf *to, struct bytes text)
{
    for (; text.len > 0 && text.data[0] == ' '; text.len--)
        text.data++;
    if (needs_blank_before(text))
        buf_add_byte(to, ' ');
    buf_add(to, text.data, text.len);
}

static void end_stack(struct buf *to, size_t start)
{
    while (to->len > start && to->data[to->len - 1] == ' ')
        to->len--;
    guard_end(to, start);
}

static void put_stack(struct writer *w, uint32_t stack)
{
    struct buf *to = &w->line_text;
    const size_t start = to->len;
    const uint32_t depth = read_stack(w, stack);
    for (uint32_t i = depth; i-- > 0;) {
        const struct bytes text = frame_text(w, w->locations[i]);
        if (i + 1 == depth)
            put_root(to, text);
        else
            buf_add(to, text.data, text.len);
        if (i > 0)
            buf_add_byte(to, ';');
    }
    if (depth == 0)
        buf_add_text(to, FRAME_UNKNOWN);
    if (buf_ok(to))
        end_stack(to, start);
}

static int by_text(const void *a, const void *b)
{
    const struct stack_line *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->len < y->len ? x->len : y->len);
    return order != 0 ? order : (x->len > y->len) - (x->len < y->len);
}

static void check_size(struct writer *w, const struct buf *text)
{
    if (text->too_large && w->code == ERR_OK)
        w->code = err_set(w->e, ERR_LIMIT, "the folded stacks are larger than the %zu bytes allowed", text->max_bytes);
    else if (!buf_ok(text))
        fail_memory(w);
}

static void make_lines(struct writer *w)
{
    uint32_t n = 0;
    for (uint32_t stack = 0; stack < w->d->stack_count && w->code == ERR_OK; stack++) {
        if (!w->is_used[stack])
            continue;
        const size_t start = w->line_text.len;
        put_stack(w, stack);
        check_size(w, &w->frame_text);
        check_size(w, &w->line_text);
        w->lines[n++] = (struct stack_line){.len = w->line_text.len - start, .value = w->values[stack]};
    }
    const uint8_t *at = w->line_text.data; // it stays there from now on
    for (uint32_t i = 0; i < n && w->code == ERR_OK; at += w->lines[i++].len)
        w->lines[i].text = at;
}

static void put_lines(struct writer *w, struct buf *out)
{
    if (w->code != ERR_OK)
        return;
    qsort(w->lines, w->used_count, sizeof *w->lines, by_text);
    for (uint32_t i = 0; i < w->used_count;) {
        const struct stack_line *first = &w->lines[i];
        int64_t sum = 0;
        for (; i < w->used_count && by_text(first, &w->lines[i]) == 0; i++)
            if (__builtin_add_overflow(sum, w->lines[i].value, &sum))
                fail(w, ERR_LIMIT, "the values of a stack add up to more than 64 bits hold");
        buf_add(out, first->text, first->len);
        buf_add_format(out, " %" PRId64 "\n", sum);
    }
    check_size(w, out);
}

// --- all ---

static void *zeroed(struct writer *w, size_t count, size_t size)
{
    void *items = mem_try_array(count, size);
    if (items == NULL)
        fail_memory(w);
    else
        memset(items, 0, count * size);
    return items;
}

static void writer_fini(struct writer *w)
{
    free(w->values);
    free(w->is_used);
    free(w->frames);
    free(w->locations);
    free(w->lines);
    buf_fini(&w->frame_text);
    buf_fini(&w->line_text);
}

enum err_code folded_encode(const struct batch *b, const struct encode_options *options, struct buf *out,
                            struct encode_report *report, struct err *e)
{
    const struct dictionary *d = b->dictionary;
    struct writer w = {.b = b, .d = d, .report = report, .e = e};
    if (!find_type(&w, options->sample_type))
        return w.code;
    buf_init(&w.frame_text, out->max_bytes);
    buf_init(&w.line_text, out->max_bytes);
    w.values = zeroed(&w, d->stack_count, sizeof *w.values);
    w.is_used = zeroed(&w, d->stack_count, sizeof *w.is_used);
    w.frames = zeroed(&w, d->location_count, sizeof *w.frames);
    if (w.code == ERR_OK)
        each_profile(b, add_profile, &w);
    w.lines = zeroed(&w, (size_t)w.used_count + 1, sizeof *w.lines);
    if (w.code == ERR_OK)
        make_lines(&w);
    put_lines(&w, out);
    writer_fini(&w);
    return w.code;
}
