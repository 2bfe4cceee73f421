// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include "base/check.h"

#include <inttypes.h>
#include <stdlib.h>

enum { MAX_FRAMES = 32, MAX_NODES = 200 };

void batch_writer_init(struct batch_writer *w)
{
    const struct bytes none = {0};
    w->builder = builder_create(0);
    sample_writer_init(&w->samples, w->builder);
    observation_writer_init(&w->observations, w->builder);
    builder_resource(w->builder, NULL, 0, 0, none);
    builder_scope(w->builder, none, none, NULL, 0, 0, none);
}

// What stands before any of `ends`.
static struct bytes take(const char **at, const char *ends)
{
    const size_t len = strcspn(*at, ends);
    const struct bytes part = {(const uint8_t *)*at, len};
    *at += len;
    return part;
}

static struct bytes take_after(const char **at, char mark, const char *ends)
{
    if (**at != mark)
        return (struct bytes){0};
    ++*at;
    return take(at, ends);
}

// All frames up to the next ';'.
static uint32_t read_location(struct builder *b, const char **at)
{
    struct batch_line lines[MAX_FRAMES];
    struct batch_mapping mapping = {0};
    uint32_t count = 0;
    do {
        *at += **at == '>';
        const struct bytes name = take(at, "@!>;"), file = take_after(at, '@', "!>;");
        const struct bytes module = take_after(at, '!', ">;");
        const struct batch_function f = {.name = builder_string(b, name), .filename = builder_string(b, file)};
        mapping.filename = module.len > 0 ? builder_string(b, module) : mapping.filename;
        CHECK(count < MAX_FRAMES);
        memmove(lines + 1, lines, count * sizeof *lines); // innermost first
        lines[0] = (struct batch_line){.function = builder_function(b, &f), .line = 1};
        count += name.len > 0;
    } while (**at == '>');
    const struct batch_location l = {.mapping = builder_mapping(b, &mapping), .address = 1};
    return builder_location(b, &l, lines, count);
}

uint32_t batch_writer_stack(struct batch_writer *w, const char *text)
{
    uint32_t locations[MAX_FRAMES], count = 0;
    while (*text != 0) {
        CHECK(count < MAX_FRAMES);
        locations[MAX_FRAMES - ++count] = read_location(w->builder, &text);
        text += *text == ';';
    }
    return builder_stack(w->builder, locations + MAX_FRAMES - count, count);
}

void batch_writer_sample(struct batch_writer *w, const char *stack, int64_t value)
{
    sample_writer_add(&w->samples, batch_writer_stack(w, stack), 0, 0);
    observation_writer_add_value(&w->observations, value);
}

static uint32_t text_attribute(struct builder *b, const char *key, const char *text)
{
    const struct value v = value_string(bytes_from_text(text));
    return builder_attribute(b, builder_string_text(b, key), 0, &v);
}

void batch_writer_profile(struct batch_writer *w, const char *type, const char *unit, const char *drop,
                          const char *keep)
{
    struct builder *b = w->builder;
    uint32_t attributes[2], count = 0;
    if (drop != NULL)
        attributes[count++] = text_attribute(b, "pprof.profile.drop_frames", drop);
    if (keep != NULL)
        attributes[count++] = text_attribute(b, "pprof.profile.keep_frames", keep);
    struct profile p = {
        .sample_type = {builder_string_text(b, type), builder_string_text(b, unit)},
        .attribute_set = builder_attribute_set(b, attributes, count),
        .columns = sample_writer_take(&w->samples),
        .observations = observation_writer_take(&w->observations),
    };
    builder_profile(b, &p);
}

struct batch *batch_writer_finish(struct batch_writer *w)
{
    struct err e = {0};
    struct batch *batch;
    sample_writer_fini(&w->samples);
    observation_writer_fini(&w->observations);
    if (builder_finish(w->builder, &batch, &e) != ERR_OK)
        fail_msg("%s", e.text);
    builder_destroy(&w->builder);
    return batch;
}

struct batch *batch_of(const char *type, const char *unit, const char *const *stacks)
{
    struct batch_writer w;
    int64_t value = 1;
    batch_writer_init(&w);
    for (; *stacks != NULL; stacks++, value *= 2)
        batch_writer_sample(&w, *stacks, value);
    batch_writer_profile(&w, type, unit, NULL, NULL);
    return batch_writer_finish(&w);
}

struct call_tree tree_of(const struct batch *b, const struct call_tree_options *options)
{
    static const struct call_tree_options none = {0};
    struct call_tree t;
    struct err e = {0};
    if (call_tree_build(&b, 1, options != NULL ? options : &none, &t, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return t;
}

struct named_node {
    struct bytes name;
    uint32_t id;
};

static int compare_named(const void *a, const void *b)
{
    const struct named_node *x = a, *y = b;
    const size_t len = x->name.len < y->name.len ? x->name.len : y->name.len;
    const int order = memcmp(x->name.data, y->name.data, len);
    if (order != 0 || x->name.len != y->name.len)
        return order != 0 ? order : (x->name.len > len) - (y->name.len > len);
    return (x->id > y->id) - (x->id < y->id);
}

// Trees of tests are small.
static void write_children(const struct call_tree *t, uint32_t parent, struct buf *out)
{
    struct named_node children[MAX_NODES];
    uint32_t count = 0;
    for (uint32_t i = t->nodes[parent].first_child; i != 0; i = t->nodes[i].next_sibling) {
        CHECK(count < MAX_NODES);
        assert_true(i > parent && t->nodes[i].parent == parent);
        children[count++] = (struct named_node){t->functions[t->nodes[i].function].name, i};
    }
    qsort(children, count, sizeof *children, compare_named);
    for (uint32_t i = 0; i < count; i++) {
        const struct call_node *n = &t->nodes[children[i].id];
        buf_add(out, children[i].name.data, children[i].name.len);
        for (int s = 0; s < t->side_count; s++)
            buf_add_format(out, " %" PRId64 " %" PRId64, n->self[s], n->total[s]);
        if (n->first_child != 0) {
            buf_add_byte(out, '(');
            write_children(t, children[i].id, out);
            buf_add_byte(out, ')');
        }
        buf_add_byte(out, ';');
    }
}

void assert_tree(const struct call_tree *t, const char *expected)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    write_children(t, 0, &out);
    buf_add_byte(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    buf_fini(&out);
}
