// SPDX-License-Identifier: Apache-2.0
#include "view/flame_data.h"

#include "base/hash.h"
#include "base/index_table.h"
#include "base/mem.h"
#include "view/flame_parts.h"

static const int64_t max_exact_number = ((int64_t)1 << 53) - 1; // JavaScript's

struct page_function {
    uint32_t name, file, module, color;
};

struct page_tables {
    struct index_table string_index, function_index;
    struct bytes *strings;
    struct page_function *functions;
    size_t string_capacity, function_capacity;
    uint32_t string_count, function_count;
    uint32_t **functions_of; // by tree: its function -> ours
    size_t tree_count;
};

static void tables_fini(struct page_tables *t)
{
    for (size_t i = 0; t->functions_of != NULL && i < t->tree_count; i++)
        free(t->functions_of[i]);
    free(t->functions_of);
    free(t->strings);
    free(t->functions);
    index_table_fini(&t->string_index);
    index_table_fini(&t->function_index);
}

static bool intern_string(struct page_tables *t, struct bytes text, uint32_t *id_out)
{
    uint64_t hash = hash_bytes(text.data, text.len);
    if (!index_table_reserve(&t->string_index))
        return false;
    uint32_t slot = index_table_start(&t->string_index, hash);
    for (; index_table_next(&t->string_index, hash, &slot, id_out); index_table_skip(&t->string_index, &slot))
        if (bytes_equal(t->strings[*id_out], text))
            return true;
    if (!mem_try_grow((void **)&t->strings, &t->string_capacity, t->string_count + 1, sizeof *t->strings, UINT32_MAX))
        return false;
    *id_out = t->string_count++;
    t->strings[*id_out] = text;
    index_table_insert(&t->string_index, hash, slot, *id_out);
    return true;
}

static bool intern_function(struct page_tables *t, const struct call_function *from, uint32_t *id_out)
{
    struct page_function f = {.color = flame_color(from)};
    if (!intern_string(t, from->name, &f.name) || !intern_string(t, from->file, &f.file) ||
        !intern_string(t, from->module, &f.module) || !index_table_reserve(&t->function_index))
        return false;
    uint64_t hash = hash_bytes(&f, sizeof f);
    uint32_t slot = index_table_start(&t->function_index, hash);
    for (; index_table_next(&t->function_index, hash, &slot, id_out); index_table_skip(&t->function_index, &slot))
        if (memcmp(&t->functions[*id_out], &f, sizeof f) == 0)
            return true;
    if (!mem_try_grow((void **)&t->functions, &t->function_capacity, t->function_count + 1, sizeof f, UINT32_MAX))
        return false;
    *id_out = t->function_count++;
    t->functions[*id_out] = f;
    index_table_insert(&t->function_index, hash, slot, *id_out);
    return true;
}

static bool collect_tree(struct page_tables *t, const struct call_tree *tree, uint32_t **map_out)
{
    *map_out = mem_try_array((size_t)tree->function_count + 1, sizeof **map_out);
    if (*map_out == NULL)
        return false;
    for (uint32_t i = 0; i < tree->function_count; i++)
        if (!intern_function(t, &tree->functions[i], &(*map_out)[i]))
            return false;
    return true;
}

static bool collect(struct page_tables *t, const struct call_tree *trees, size_t count)
{
    t->functions_of = mem_try_array(count, sizeof *t->functions_of);
    if (t->functions_of == NULL)
        return false;
    for (; t->tree_count < count; t->tree_count++)
        t->functions_of[t->tree_count] = NULL;
    for (size_t i = 0; i < count; i++)
        if (!collect_tree(t, &trees[i], &t->functions_of[i]))
            return false;
    return true;
}

static void add_string(struct buf *out, struct bytes text)
{
    buf_add_byte(out, '"');
    flame_json_text(out, text);
    buf_add_byte(out, '"');
}

static void write_tables(const struct page_tables *t, struct buf *out)
{
    buf_add_text(out, ",\n\"strings\":[");
    for (uint32_t i = 0; i < t->string_count; i++) {
        buf_add_text(out, i > 0 ? ",\n" : "");
        add_string(out, t->strings[i]);
    }
    buf_add_text(out, "],\n\"functions\":[");
    for (uint32_t i = 0; i < t->function_count; i++) {
        const struct page_function *f = &t->functions[i];
        buf_add_format(out, "%s%u,%u,%u,%u", i > 0 ? "," : "", f->name, f->file, f->module, f->color);
    }
    buf_add_text(out, "],\n\"types\":[");
}

static bool is_exact(int64_t value)
{
    return value >= -max_exact_number && value <= max_exact_number;
}

// May any sum over a tree's frames leave the numbers that JavaScript holds exactly?
static bool is_wide(const struct call_tree *tree)
{
    int64_t sums[CALL_SIDES] = {0};
    for (uint32_t i = 0; i < tree->node_count; i++)
        for (int side = 0; side < tree->side_count; side++) {
            int64_t self = tree->nodes[i].self[side];
            if (!is_exact(self) || !is_exact(sums[side] += self < 0 ? -self : self))
                return true;
        }
    return false;
}

// A list that is mostly zeros.
struct sparse_list {
    struct buf *out;
    uint32_t zeros;
    bool begun;
};

static void sparse_add(struct sparse_list *l, int64_t value)
{
    if (value == 0) {
        l->zeros++;
        return;
    }
    buf_add_format(l->out, is_exact(value) ? "%s%u,%lld" : "%s%u,\"%lld\"", l->begun ? "," : "", l->zeros,
                   (long long)value);
    l->zeros = 0;
    l->begun = true;
}

static void write_side(const struct call_tree *tree, const struct flame_layout *l, int side, struct buf *out)
{
    struct sparse_list list = {.out = out};
    buf_add_text(out, side > 0 ? ",\n[" : "[");
    for (uint32_t i = 0; i < l->count; i++)
        sparse_add(&list, tree->nodes[l->nodes[i]].self[side]);
    buf_add_byte(out, ']');
}

static void write_frames(const struct call_tree *tree, const struct flame_layout *l, const uint32_t *functions,
                         struct buf *out)
{
    struct sparse_list ups = {.out = out, .zeros = 1};
    buf_add_text(out, ",\n\"f\":[0");
    for (uint32_t i = 1; i < l->count; i++)
        buf_add_format(out, ",%u", functions[tree->nodes[l->nodes[i]].function]);
    buf_add_text(out, "],\n\"u\":[");
    for (uint32_t i = 1; i < l->count; i++)
        sparse_add(&ups, (int64_t)l->depths[i - 1] + 1 - l->depths[i]);
    buf_add_text(out, "],\n\"s\":[");
    for (int side = 0; side < tree->side_count; side++)
        write_side(tree, l, side, out);
    buf_add_byte(out, ']');
}

static enum err_code write_tree(const struct call_tree *tree, const uint32_t *functions, struct buf *out, struct err *e)
{
    struct flame_layout layout;
    enum err_code code = flame_layout_build(tree, &layout, e);
    if (code == ERR_OK) {
        buf_add_text(out, "{\"type\":");
        add_string(out, tree->sample_type);
        buf_add_text(out, ",\"unit\":");
        add_string(out, tree->unit);
        buf_add_format(out, ",\"samples\":%llu,\"cut\":%llu,\"wide\":%s", (unsigned long long)tree->samples,
                       (unsigned long long)tree->cut_samples, is_wide(tree) ? "true" : "false");
        if (tree->small_nodes > 0)
            buf_add_format(out, ",\"small\":%u,\"below\":%g", tree->small_nodes, tree->small_share * 100);
        write_frames(tree, &layout, functions, out);
        buf_add_byte(out, '}');
    }
    flame_layout_fini(&layout);
    return code;
}

enum err_code flame_data_write(const struct call_tree *trees, size_t count, const char *title, struct buf *out,
                               struct err *e)
{
    struct page_tables tables = {0};
    enum err_code code = ERR_OK;
    if (!collect(&tables, trees, count))
        code = err_set(e, ERR_MEMORY, "no memory for the names of the flame graph");
    buf_add_text(out, "{\"version\":\"" PROFRELAY_VERSION "\",\"title\":");
    add_string(out, bytes_from_text(title));
    write_tables(&tables, out);
    for (size_t i = 0; code == ERR_OK && i < count; i++) {
        buf_add_text(out, i > 0 ? ",\n" : "");
        code = write_tree(&trees[i], tables.functions_of[i], out, e);
    }
    buf_add_text(out, "]}");
    tables_fini(&tables);
    return code;
}
