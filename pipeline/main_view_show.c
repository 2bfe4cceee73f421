// SPDX-License-Identifier: Apache-2.0
#include "base/clean_text.h"
#include "base/limits.h"
#include "base/mem.h"
#include "pipeline/main_view.h"
#include "pipeline/profile_output.h"
#include "view/flame_page.h"
#include "view/sample_types.h"
#include "view/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_TYPES = 64, MAX_PAGE_NODES = 4000000 }; // more no browser opens

static const struct batch *const *batches_of(const struct view *v)
{
    return (const struct batch *const *)v->batches;
}

static enum err_code write_buf(struct view *v, const char *path, const struct buf *out)
{
    if (!buf_ok(out))
        return err_set(&v->e, ERR_MEMORY, "out of memory for the result");
    return output_write(path, buf_bytes(out), &v->e);
}

// --- tables ---

static enum function_order order_of(const struct view *v, const char *fallback)
{
    const char *by = option_last(&v->o->by);
    by = by != NULL ? by : fallback;
    return strcmp(by, "self") == 0 ? ORDER_SELF : strcmp(by, "total") == 0 ? ORDER_TOTAL : ORDER_CHANGE;
}

// For programs: whole numbers, one line for each function.
static void print_raw(const struct function_table *t, uint32_t max_rows, struct buf *out)
{
    for (uint32_t i = 0; i < t->count && (max_rows == 0 || i < max_rows); i++) {
        const struct function_row *row = &t->rows[i];
        for (int side = 0; side < t->tree.side_count; side++)
            buf_add_format(out, "%" PRId64 "\t%" PRId64 "\t", row->self[side], row->total[side]);
        clean_text_add(out, t->tree.functions[row->function].name);
        buf_add_byte(out, '\n');
    }
}

static void print_table(struct view *v, const struct function_table *t, struct buf *out)
{
    uint32_t rows = (uint32_t)v->rows;
    if (v->o->raw.count != 0)
        print_raw(t, rows, out);
    else if (v->count == 1)
        top_print(t, rows, out);
    else
        diff_print(t, rows, out);
}

// Whoever did not choose should know what there is to choose from.
static void note_other_types(const struct view *v, const struct call_tree *tree)
{
    struct sample_type_name types[MAX_TYPES];
    struct buf others;
    size_t count = batch_sample_types(v->batches[0], types, MAX_TYPES);
    buf_init(&others, ERR_TEXT_MAX / 2);
    for (size_t i = 0; i < count && i < MAX_TYPES; i++) {
        if (bytes_equal(types[i].type, tree->sample_type) && bytes_equal(types[i].unit, tree->unit))
            continue;
        buf_add_text(&others, others.len == 0 ? "" : ", ");
        clean_text_add(&others, types[i].type);
    }
    if (others.len != 0)
        command_note(v->line, "also in it: %.*s; choose with --type", BYTES_PRINT(buf_bytes(&others)));
    buf_fini(&others);
}

enum err_code view_show_table(struct view *v)
{
    struct function_table table;
    struct buf out;
    enum err_code rc = function_table_build(batches_of(v), v->count, &v->tree_options, &table, &v->e);
    if (rc != ERR_OK)
        return rc;
    buf_init(&out, LIMIT_COMMAND_BYTES);
    function_table_sort(&table, order_of(v, v->count == 1 ? "self" : "change"));
    print_table(v, &table, &out);
    rc = write_buf(v, "-", &out);
    if (rc == ERR_OK && v->count == 1 && v->o->type.count == 0 && v->o->raw.count == 0)
        note_other_types(v, &table.tree);
    buf_fini(&out);
    function_table_fini(&table);
    return rc;
}

// --- flame graphs ---

static bool wants_svg(const struct view *v)
{
    const char *to = option_last(&v->o->to), *output = option_last(&v->o->output);
    size_t len = strlen(output);
    return to != NULL ? strcmp(to, "svg") == 0 : len >= 4 && strcasecmp(output + len - 4, ".svg") == 0;
}

static void default_title(const struct view *v, struct buf *out)
{
    for (int i = 0; i < v->count; i++) {
        const char *path = v->line->arguments[i], *slash = strrchr(path, '/');
        buf_add_text(out, i == 0 ? "" : " -> ");
        clean_text_add(out, bytes_from_text(slash != NULL && slash[1] != '\0' ? slash + 1 : path));
    }
    buf_add_byte(out, '\0');
}

static enum err_code write_flames(struct view *v, const struct call_tree *trees, size_t count)
{
    struct buf title, out;
    buf_init(&title, 2 * LIMIT_PATH_BYTES * 4);
    buf_init(&out, LIMIT_COMMAND_BYTES);
    default_title(v, &title);
    const char *said = option_last(&v->o->title);
    const struct flame_options options = {.title = said != NULL ? said : (const char *)title.data};
    enum err_code rc =
        wants_svg(v) ? flame_svg(&trees[0], &options, &out, &v->e) : flame_html(trees, count, &options, &out, &v->e);
    if (rc == ERR_OK)
        rc = write_buf(v, option_last(&v->o->output), &out);
    buf_fini(&out);
    buf_fini(&title);
    return rc;
}

// The sample types the page can be switched to: the one that was asked for first, then those that all batches have.
static size_t types_of(const struct view *v, struct sample_type_name *out)
{
    struct sample_type_name all[MAX_TYPES], other[MAX_TYPES];
    size_t count = batch_sample_types(v->batches[0], all, MAX_TYPES), used = 0;
    count = count < MAX_TYPES ? count : MAX_TYPES;
    size_t other_count = v->count == 1 ? 0 : batch_sample_types(v->batches[1], other, MAX_TYPES);
    other_count = other_count < MAX_TYPES ? other_count : MAX_TYPES;
    for (size_t i = 0; i < count; i++) {
        bool in_both = v->count == 1;
        for (size_t j = 0; j < other_count; j++)
            in_both |= bytes_equal(all[i].type, other[j].type) && bytes_equal(all[i].unit, other[j].unit);
        if (in_both)
            out[used++] = all[i];
    }
    for (size_t i = 1; i < used; i++) {
        if (sample_type_is(v->tree_options.sample_type, out[i].type, out[i].unit)) {
            struct sample_type_name first = out[i];
            memmove(&out[1], &out[0], i * sizeof *out);
            out[0] = first;
        }
    }
    return used;
}

// "cpu/nanoseconds": the unit tells types of one name apart.
static enum err_code build_tree_of(struct view *v, const struct sample_type_name *type, struct call_tree *out)
{
    struct buf name;
    buf_init(&name, LIMIT_COMMAND_BYTES);
    buf_add(&name, type->type.data, type->type.len);
    buf_add_byte(&name, '/');
    buf_add(&name, type->unit.data, type->unit.len);
    v->tree_options.sample_type = buf_bytes(&name);
    enum err_code rc = call_tree_build(batches_of(v), v->count, &v->tree_options, out, &v->e);
    v->tree_options.sample_type = (struct bytes){NULL, 0};
    buf_fini(&name);
    return rc;
}

enum err_code view_show_flames(struct view *v)
{
    struct sample_type_name types[MAX_TYPES];
    struct call_tree *trees = mem_alloc(MAX_TYPES * sizeof *trees);
    size_t count = types_of(v, types), built = 0;
    enum err_code rc = count != 0      ? ERR_OK
                       : v->count == 1 ? err_set(&v->e, ERR_INVALID, "there are no profiles in it")
                                       : err_set(&v->e, ERR_INVALID, "the two have no sample type in common");
    count = wants_svg(v) && count > 1 ? 1 : count;
    for (; rc == ERR_OK && built < count; built++) {
        rc = build_tree_of(v, &types[built], &trees[built]);
        if (rc == ERR_OK && !wants_svg(v))
            rc = call_tree_trim(&trees[built], MAX_PAGE_NODES / (uint32_t)count, &v->e);
    }
    if (rc == ERR_OK)
        rc = write_flames(v, trees, count);
    for (size_t i = 0; i < built; i++)
        call_tree_fini(&trees[i]);
    free(trees);
    return rc;
}

// The table goes to the terminal, the flame graph to its file.
enum err_code view_show_diff(struct view *v)
{
    const char *output = option_last(&v->o->output);
    enum err_code rc = output != NULL ? view_show_flames(v) : ERR_OK;
    v->tree_options.sample_type = bytes_from_text(option_last(&v->o->type));
    return rc == ERR_OK && (output == NULL || strcmp(output, "-") != 0) ? view_show_table(v) : rc;
}

// --- everything ---

enum err_code view_show_dump(struct view *v)
{
    struct buf out;
    buf_init(&out, LIMIT_COMMAND_BYTES);
    show_print(v->batches[0], &out);
    enum err_code rc = write_buf(v, "-", &out);
    buf_fini(&out);
    return rc;
}

enum err_code view_show_layout(struct view *v)
{
    const struct otlp_layout_finding *found = &v->reports[0].layout;
    struct buf out;
    if (found->layout == OTLP_LAYOUT_AUTO)
        return err_set(&v->e, ERR_UNSUPPORTED, "%s is no OTLP: it is %s", v->line->arguments[0], v->reports[0].format);
    buf_init(&out, LIMIT_COMMAND_BYTES);
    buf_add_format(&out, "layout: %s\nevidence: %s\n", otlp_layout_names[found->layout], found->evidence);
    enum err_code rc = write_buf(v, "-", &out);
    buf_fini(&out);
    return rc;
}
