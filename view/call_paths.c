// SPDX-License-Identifier: Apache-2.0
#include "view/call_paths.h"

#include "base/mem.h"
#include "profile/stack.h"
#include "view/drop_frames.h"
#include "view/path_base.h"
#include "view/sample_types.h"
#include "view/stack_sums.h"

#define NONE UINT32_MAX

// What is known of a location: its frames as runs of functions.
struct location_runs {
    uint32_t whole; // NONE = not made yet
    uint32_t rules; // for which cut and rest hold
    uint32_t cut;   // lines that drop_frames takes away, innermost first
    uint32_t rest;  // run of the other lines; NONE = not made yet
};

struct path {
    struct grown_array runs; // uint32_t, leaf first: of locations first, then of the frames
    uint32_t count;
};

// One batch that is read.
struct side {
    struct call_functions *functions;
    visit_path_fn *visit;
    void *arg;
    const struct dictionary *dictionary;
    int number;
    struct value_type sample_type;
    struct location_runs *locations;
    struct stack_sums sums;
    struct drop_frames drop;
    uint32_t rules; // counts the changes of drop
    struct path path;
};

// --- frames ---

// Of a frame without a name: that of its module in brackets, which the kernel's have already.
static bool unnamed_function(struct side *s, struct call_function *f, uint32_t *id_out)
{
    const struct bytes base = path_base(f->module);
    f->name = BYTES_LITERAL("[unknown]");
    if (base.len == 0)
        return call_function_find(s->functions, f, id_out);
    f->name = base;
    if (base.data[0] == '[')
        return call_function_find(s->functions, f, id_out);
    uint8_t *text = mem_try_alloc(base.len + 2);
    if (text == NULL)
        return call_functions_no_memory(s->functions);
    text[0] = '[';
    memcpy(text + 1, base.data, base.len);
    text[base.len + 1] = ']';
    f->name = (struct bytes){text, base.len + 2};
    bool ok = call_function_find(s->functions, f, id_out);
    free(text);
    return ok;
}

static bool run_add_function(struct side *s, uint32_t mapping, uint32_t function)
{
    const struct dictionary *d = s->dictionary;
    const struct batch_function *f = &d->functions[function];
    struct call_function wanted = {
        .name = d->strings[f->name != 0 ? f->name : f->system_name],
        .file = d->strings[f->filename],
        .module = d->strings[d->mappings[mapping].filename],
    };
    uint32_t id = 0;
    bool ok = wanted.name.len > 0 ? call_function_find(s->functions, &wanted, &id) : unnamed_function(s, &wanted, &id);
    return ok && call_run_add(s->functions, id);
}

// The run of a location's lines but the first `cut`.
static bool run_create(struct side *s, const struct batch_location *l, uint32_t cut, uint32_t *run_out)
{
    const uint32_t start = s->functions->run_function_count;
    if (l->line_count == 0 && !run_add_function(s, l->mapping, 0))
        return false;
    for (uint32_t i = l->line_count; i-- > cut;) {
        if (!run_add_function(s, l->mapping, s->dictionary->lines[l->line_start + i].function))
            return false;
    }
    return call_run_end(s->functions, start, run_out);
}

static bool whole_run(struct side *s, uint32_t location, uint32_t *run_out)
{
    struct location_runs *known = &s->locations[location];
    if (known->whole == NONE && !run_create(s, &s->dictionary->locations[location], 0, &known->whole))
        return false;
    *run_out = known->whole;
    return true;
}

static bool rest_run(struct side *s, uint32_t location, uint32_t *run_out)
{
    struct location_runs *known = &s->locations[location];
    if (known->rest == NONE && !run_create(s, &s->dictionary->locations[location], known->cut, &known->rest))
        return false;
    *run_out = known->rest;
    return true;
}

static uint32_t lines_cut(struct side *s, uint32_t location)
{
    struct location_runs *known = &s->locations[location];
    if (known->rules != s->rules) {
        known->rules = s->rules;
        known->cut = drop_frames_cut(&s->drop, s->dictionary, &s->dictionary->locations[location]);
        known->rest = NONE;
    }
    return known->cut;
}

// --- stacks ---

static bool path_read(struct side *s, uint32_t stack)
{
    struct path *p = &s->path;
    struct stack_reader r;
    uint32_t location;
    p->count = 0;
    stack_reader_init(&r, s->dictionary, stack);
    // As many ids as bytes, at most.
    if (!mem_try_grow(&p->runs.items, &p->runs.capacity, s->dictionary->stacks[stack].count, sizeof location, SIZE_MAX))
        return call_functions_no_memory(s->functions);
    while (stack_next(&r, &location))
        ((uint32_t *)p->runs.items)[p->count++] = location;
    return true;
}

// Makes runs of the locations of a path. From the root on, the first frame that is to be dropped goes with all it
// calls; but not before a frame that stays, so that something remains.
static bool path_resolve(struct side *s, uint32_t *first_out)
{
    uint32_t *items = s->path.runs.items, i = s->path.count;
    bool stays = false, ended = false;
    while (i > 0 && !ended) {
        const uint32_t location = items[i - 1], cut = s->drop.drop == NULL ? 0 : lines_cut(s, location);
        const bool rest = cut > 0 && cut < s->dictionary->locations[location].line_count;
        ended = cut > 0 && stays;
        stays = stays || cut == 0;
        if (ended && !rest)
            break;
        if (!(rest ? rest_run : whole_run)(s, location, &items[i - 1]))
            return false;
        i--;
    }
    *first_out = i;
    return true;
}

static bool path_is_counted(const struct side *s, uint32_t first)
{
    const struct frame_run *runs = s->functions->runs.items;
    const uint32_t *items = s->path.runs.items;
    uint8_t marks = 0;
    for (uint32_t i = first; i < s->path.count; i++)
        marks |= runs[items[i]].marks;
    return (marks & MARK_IGNORE) == 0 && (s->functions->options->focus == NULL || (marks & MARK_FOCUS) != 0);
}

static bool add_stack(struct side *s, uint32_t stack, struct stack_sum sum)
{
    uint32_t first;
    if (!path_read(s, stack) || !path_resolve(s, &first))
        return false;
    if (!path_is_counted(s, first)) {
        s->functions->tree->cut_samples += sum.samples;
        return true;
    }
    s->functions->tree->samples += sum.samples;
    const struct call_path path = {
        .functions = s->functions,
        .runs = (uint32_t *)s->path.runs.items + first,
        .count = s->path.count - first,
        .side = s->number,
        .value = sum.value,
    };
    return sum.value == 0 || s->visit(s->arg, &path, s->functions->e);
}

static bool add_stacks(struct side *s)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->sums.touched_count; i++) {
        const uint32_t stack = s->sums.touched[i];
        ok = add_stack(s, stack, s->sums.items[stack]);
    }
    stack_sums_clear(&s->sums);
    return ok;
}

// --- batches ---

static bool add_profile(void *arg, const struct profile *p)
{
    struct side *s = arg;
    if (p->sample_type.type != s->sample_type.type || p->sample_type.unit != s->sample_type.unit)
        return true;
    if (!drop_frames_fit(&s->drop, s->dictionary, p)) {
        // What was summed so far is of the rules so far.
        if (!add_stacks(s) || !drop_frames_set(&s->drop, s->dictionary, p, s->functions->e))
            return false;
        s->rules++;
    }
    stack_sums_add(&s->sums, p);
    return true;
}

static bool side_init(struct side *s)
{
    const struct dictionary *d = s->dictionary;
    s->locations = mem_try_array(d->location_count, sizeof *s->locations);
    if (!stack_sums_init(&s->sums, d->stack_count) || s->locations == NULL)
        return call_functions_no_memory(s->functions);
    for (uint32_t i = 0; i < d->location_count; i++)
        s->locations[i] = (struct location_runs){.whole = NONE, .rest = NONE};
    return true;
}

static bool read_side(struct side *s, const struct batch *b)
{
    s->dictionary = b->dictionary;
    bool ok = side_init(s) && batch_each_profile(b, add_profile, s) && add_stacks(s);
    free(s->locations);
    free(s->path.runs.items);
    stack_sums_fini(&s->sums);
    drop_frames_fini(&s->drop);
    return ok;
}

static enum err_code choose_types(const struct batch *const *batches, int count, struct bytes name,
                                  struct value_type *out, struct err *e)
{
    enum err_code code = sample_type_choose(batches[0], name, &out[0], e);
    const struct bytes *strings = batches[0]->dictionary->strings;
    if (code == ERR_OK && count == 2)
        code = sample_type_same(batches[1], strings[out[0].type], strings[out[0].unit], &out[1], e);
    return code;
}

static bool name_type(struct call_functions *c, const struct dictionary *d, struct value_type type)
{
    struct call_tree *t = c->tree;
    return (arena_try_copy(&t->arena, d->strings[type.type], &t->sample_type) &&
            arena_try_copy(&t->arena, d->strings[type.unit], &t->unit)) ||
           call_functions_no_memory(c);
}

enum err_code call_paths_read(const struct batch *const *batches, int count, const struct call_tree_options *options,
                              visit_path_fn *visit, void *arg, struct call_tree *out, struct err *e)
{
    struct value_type types[CALL_SIDES];
    struct call_functions c;
    struct err own_err;
    struct err *told = e != NULL ? e : &own_err;
    CHECK(count >= 1 && count <= CALL_SIDES);
    *out = (struct call_tree){.side_count = count};
    arena_init(&out->arena, 0);
    enum err_code code = choose_types(batches, count, options->sample_type, types, told);
    if (code != ERR_OK)
        return code;
    bool ok = call_functions_init(&c, out, options, told) && name_type(&c, batches[0]->dictionary, types[0]);
    for (int i = 0; ok && i < count; i++) {
        struct side s = {.functions = &c, .visit = visit, .arg = arg, .number = i, .sample_type = types[i]};
        ok = read_side(&s, batches[i]);
    }
    out->functions = c.functions.items;
    c.functions.items = NULL;
    call_functions_fini(&c);
    if (!ok)
        call_tree_fini(out);
    return ok ? ERR_OK : told->code;
}
