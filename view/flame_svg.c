// SPDX-License-Identifier: Apache-2.0
#include "view/flame_page.h"

#include "base/mem.h"
#include "base/text.h"
#include "view/flame_parts.h"
#include "view/text.h"

#include <math.h>

enum { WIDTH = 1200, MARGIN = 12, HEAD = 66, FOOT = 36, ROW = 20, TEXT_PAD = 4 };
static const double min_width = 0.5;    // of a frame that is drawn
static const double letter_width = 7.3; // monospace at 12 px, rather too wide than too narrow
static const char font[] = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace";

struct picture {
    const struct call_tree *tree;
    struct flame_layout layout;
    double *lefts; // by depth: where its next frame begins
    double scale;
    uint32_t deepest, left_out; // of the frames that are drawn; how many are not
    struct buf *out;
};

static double frame_width(const struct picture *p, uint32_t place)
{
    return p->layout.weights[p->layout.nodes[place]] * p->scale;
}

static enum err_code measure(struct picture *p, struct err *e)
{
    uint32_t depth = 0;
    double all = p->layout.weights[0];
    p->scale = all > 0 ? (WIDTH - 2 * MARGIN) / all : 0;
    for (uint32_t i = 0; i < p->layout.count; i++) {
        bool drawn = i == 0 || frame_width(p, i) >= min_width;
        p->left_out += !drawn;
        depth = p->layout.depths[i] > depth ? p->layout.depths[i] : depth;
        if (drawn && p->layout.depths[i] > p->deepest)
            p->deepest = p->layout.depths[i];
    }
    p->lefts = mem_try_array((size_t)depth + 2, sizeof *p->lefts);
    if (p->lefts == NULL)
        return err_set(e, ERR_MEMORY, "no memory for a flame graph of %u levels", depth);
    p->lefts[0] = MARGIN;
    return ERR_OK;
}

static double share(const struct picture *p, int64_t value, int side)
{
    double all = (double)p->tree->nodes[0].total[side];
    return all != 0 ? (double)value / (all < 0 ? -all : all) : 0;
}

static void add_value(const struct picture *p, int64_t value)
{
    char text[64];
    flame_xml_text(p->out, bytes_from_text(value_text(text, sizeof text, value, p->tree->unit)));
}

static void add_total(const struct picture *p, const struct call_node *n)
{
    for (int side = 0; side < p->tree->side_count; side++) {
        buf_add_text(p->out, side > 0 ? " → " : "");
        add_value(p, n->total[side]);
        buf_add_format(p->out, " (%.2f %%)", 100 * share(p, n->total[side], side));
    }
}

// In one line: a picture of thousands of frames is mostly this.
static void add_tooltip(const struct picture *p, const struct call_node *n, struct bytes name)
{
    buf_add_text(p->out, "<title>");
    flame_xml_text(p->out, name);
    buf_add_text(p->out, ": ");
    add_total(p, n);
    for (int side = 0; (n->self[0] != 0 || n->self[1] != 0) && side < p->tree->side_count; side++) {
        buf_add_text(p->out, side > 0 ? " → " : ", self ");
        add_value(p, n->self[side]);
    }
    buf_add_text(p->out, "</title>");
}

// Of a pixel the tenth, if there is one.
static void add_number(const struct picture *p, const char *before, double number)
{
    const double tenths = round(number * 10);
    const int decimals = fmod(tenths, 10) == 0 ? 0 : 1;
    buf_add_format(p->out, "%s%.*f", before, decimals, tenths / 10);
}

// The beginning of name that fits: what is not ASCII may be twice as wide.
static struct bytes fitting(struct bytes name, double room, bool *cut_out)
{
    size_t used = 0;
    double columns = room / letter_width, next;
    *cut_out = false;
    while (used < name.len) {
        size_t len = utf8_char_len((struct bytes){name.data + used, name.len - used});
        next = columns - (name.data[used] < 0x80 ? 1 : 2);
        *cut_out = next < (used + len < name.len ? 1 : 0); // there must be room for the dots
        if (*cut_out)
            break;
        columns = next;
        used += len > 0 ? len : 1;
    }
    return (struct bytes){name.data, used};
}

// Without the folders before it, as page/format.js has it.
static struct bytes short_name(struct bytes name)
{
    size_t begin = 0;
    for (size_t i = 0; i < name.len && memchr(" (<[", name.data[i], 4) == NULL; i++)
        if (name.data[i] == '/')
            begin = i + 1;
    return (struct bytes){name.data + begin, name.len - begin};
}

static void add_name(const struct picture *p, struct bytes name, double left, double top, double width)
{
    bool cut;
    struct bytes begin = fitting(name, width - 2 * TEXT_PAD, &cut);
    if (cut)
        begin = fitting(short_name(name), width - 2 * TEXT_PAD, &cut);
    if (begin.len == 0)
        return;
    add_number(p, "<text x=\"", left + TEXT_PAD);
    add_number(p, "\" y=\"", top + 14);
    buf_add_text(p->out, "\">");
    flame_xml_text(p->out, begin);
    buf_add_text(p->out, cut ? "…</text>" : "</text>");
}

static void add_class(const struct picture *p, uint32_t node)
{
    const struct call_node *n = &p->tree->nodes[node];
    if (p->tree->side_count == 2)
        buf_add_format(p->out, "d%u", flame_step(share(p, n->total[0], 0), share(p, n->total[1], 1)));
    else
        buf_add_format(p->out, "c%u", node == 0 ? 2 * FLAME_HUES : flame_color(&p->tree->functions[n->function]));
}

static void add_frame(const struct picture *p, uint32_t node, double left, double top, double width)
{
    const struct call_node *n = &p->tree->nodes[node];
    struct bytes name = node == 0 ? BYTES_LITERAL("all") : p->tree->functions[n->function].name;
    buf_add_text(p->out, "<path class=\"");
    add_class(p, node);
    add_number(p, "\" d=\"M", left);
    add_number(p, " ", top);
    add_number(p, "h", width > 3 ? width - 1 : width);
    buf_add_format(p->out, "v%d", ROW - 1);
    add_number(p, "H", left);
    buf_add_text(p->out, "\">");
    add_tooltip(p, n, name);
    buf_add_text(p->out, "</path>");
    add_name(p, name, left, top, width);
    buf_add_byte(p->out, '\n');
}

static void add_frames(const struct picture *p)
{
    for (uint32_t i = 0; i < p->layout.count && buf_ok(p->out); i++) {
        uint32_t depth = p->layout.depths[i];
        double width = frame_width(p, i), left = p->lefts[depth];
        p->lefts[depth + 1] = left;
        p->lefts[depth] += width;
        if (i == 0 || width >= min_width)
            add_frame(p, p->layout.nodes[i], left, (double)(HEAD + (uint64_t)ROW * depth),
                      i == 0 && width <= 0 ? 1 : width);
    }
}

static void add_head(const struct picture *p, const char *title, uint64_t height)
{
    buf_add_format(p->out,
                   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %llu\" width=\"%d\" height=\"%llu\" "
                   "font-family=\"%s\" font-size=\"12\" fill=\"#17191c\" role=\"img\">\n<title>",
                   WIDTH, (unsigned long long)height, WIDTH, (unsigned long long)height, font);
    flame_xml_text(p->out, bytes_from_text(title));
    buf_add_text(p->out, "</title>\n<style>");
    buf_add(p->out, flame_palette.data, flame_palette.len);
    buf_add_format(p->out,
                   "text { pointer-events: none; }</style>\n<rect width=\"100%%\" height=\"100%%\" "
                   "fill=\"#ffffff\"/>\n<text x=\"%d\" y=\"28\" "
                   "font-family=\"system-ui, sans-serif\" font-size=\"17\" font-weight=\"600\">",
                   MARGIN);
    flame_xml_text(p->out, bytes_from_text(title));
    buf_add_format(p->out, "</text>\n<text x=\"%d\" y=\"50\" font-family=\"system-ui, sans-serif\" fill=\"#59626d\">",
                   MARGIN);
    flame_xml_text(p->out, p->tree->sample_type);
    buf_add_text(p->out, ": ");
    add_total(p, &p->tree->nodes[0]);
    buf_add_format(p->out, ", %llu samples</text>\n", (unsigned long long)p->tree->samples);
}

static void add_foot(const struct picture *p, uint64_t height)
{
    const char *colors = p->tree->side_count == 2 ? "Red: share grew. Blue: share shrank. Width: mean of both shares."
                                                  : "Strong colours: own code. Pale: libraries, runtime, kernel.";
    buf_add_format(p->out, "<text x=\"%d\" y=\"%llu\" font-family=\"system-ui, sans-serif\" fill=\"#59626d\">%s",
                   MARGIN, (unsigned long long)(height - 14), colors);
    if (p->left_out > 0)
        buf_add_format(p->out, " %u %s narrower than %.1f px left out.", p->left_out,
                       p->left_out == 1 ? "frame" : "frames", min_width);
    buf_add_text(p->out, "</text>\n</svg>\n");
}

enum err_code flame_svg(const struct call_tree *tree, const struct flame_options *options, struct buf *out,
                        struct err *e)
{
    struct picture p = {.tree = tree, .out = out};
    enum err_code code = flame_layout_build(tree, &p.layout, e);
    if (code == ERR_OK)
        code = measure(&p, e);
    if (code == ERR_OK) {
        uint64_t height = HEAD + FOOT + (uint64_t)ROW * (p.deepest + 1u);
        add_head(&p, options->title, height);
        add_frames(&p);
        add_foot(&p, height);
        code = flame_written(out, e);
    }
    free(p.lefts);
    flame_layout_fini(&p.layout);
    return code;
}
