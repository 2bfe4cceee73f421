// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "view/flame_page.h"
#include "view/flame_parts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>

#define TEXT(text) {(const uint8_t *)(text), sizeof(text) - 1}
#define NAME(text) {.name = TEXT(text), .file = TEXT("/src/a.c"), .own = true}

enum { MAX_BYTES = 4 << 20 };
static const struct flame_options options = {.title = "a & b"};

// all -> a -> b, c; all -> b
static struct call_function functions[] = {NAME("aa"), NAME("bb"), NAME("cc")};
static struct call_node nodes[] = {
    {.total = {100}},
    {.function = 0, .parent = 0, .self = {10}, .total = {70}},
    {.function = 1, .parent = 0, .self = {30}, .total = {30}},
    {.function = 2, .parent = 1, .self = {20}, .total = {20}},
    {.function = 1, .parent = 1, .self = {40}, .total = {40}},
};

static struct call_tree tree_of(struct call_function *f, uint32_t function_count, struct call_node *n, uint32_t count)
{
    return (struct call_tree){
        .sample_type = BYTES_LITERAL("cpu"),
        .unit = BYTES_LITERAL("nanoseconds"),
        .side_count = 1,
        .functions = f,
        .nodes = n,
        .function_count = function_count,
        .node_count = count,
        .samples = 4,
    };
}

static struct call_tree small_tree(void)
{
    return tree_of(functions, 3, nodes, 5);
}

// A tree of one function that stands right below the root.
static struct call_tree tree_of_one(struct call_function *f, struct call_node *two_nodes, int64_t self)
{
    two_nodes[0] = (struct call_node){.total = {self}};
    two_nodes[1] = (struct call_node){.self = {self}, .total = {self}};
    return tree_of(f, 1, two_nodes, 2);
}

typedef enum err_code make_fn(const struct call_tree *tree, struct buf *out);

static enum err_code make_page(const struct call_tree *tree, struct buf *out)
{
    return flame_html(tree, 1, &options, out, NULL);
}

static enum err_code make_picture(const struct call_tree *tree, struct buf *out)
{
    return flame_svg(tree, &options, out, NULL);
}

static char *made(make_fn *make, const struct call_tree *tree)
{
    struct buf out;
    buf_init(&out, MAX_BYTES);
    assert_int_equal(make(tree, &out), ERR_OK);
    buf_add_byte(&out, 0);
    return (char *)buf_take(&out, &(size_t){0});
}

// The object in the page.
static char *page_data(const struct call_tree *trees, size_t count)
{
    struct buf out;
    buf_init(&out, MAX_BYTES);
    assert_int_equal(flame_html(trees, count, &options, &out, NULL), ERR_OK);
    buf_add_byte(&out, 0);
    char *begin = strstr((char *)out.data, "id=\"data\">");
    assert_non_null(begin);
    begin += strlen("id=\"data\">");
    char *end = strstr(begin, "</script>");
    assert_non_null(end);
    *end = '\0';
    char *data = mem_copy_text(begin);
    buf_fini(&out);
    return data;
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, strlen(text) < 20000 ? text : "it");
}

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void assert_data_holds(const struct call_tree *tree, const char *part)
{
    char *data = page_data(tree, 1);
    assert_holds(data, part);
    free(data);
}

static void frames_are_in_preorder_widest_first(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    char *data = page_data(&tree, 1);
    assert_holds(data, "\"f\":[0,0,1,2,1]"); // all, aa, bb, cc, bb
    assert_holds(data, "\"u\":[3,1,0,2]");
    assert_holds(data, "\"s\":[[1,10,0,40,0,20,0,30]]");
    assert_holds(data, "\"samples\":4,\"cut\":0,\"wide\":false");
    assert_holds(data, "\"title\":\"a \\u0026 b\"");
    free(data);
}

static void what_was_left_out_is_said(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    char *data = page_data(&tree, 1);
    assert_null(strstr(data, "\"small\""));
    free(data);
    tree.small_nodes = 3;
    tree.small_share = 0.0001;
    assert_data_holds(&tree, "\"wide\":false,\"small\":3,\"below\":0.01,");
}

static void a_page_is_the_same_every_time(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    make_fn *const makes[] = {make_page, make_picture};
    for (size_t i = 0; i < 2; i++) {
        char *one = made(makes[i], &tree), *two = made(makes[i], &tree);
        assert_string_equal(one, two);
        free(one);
        free(two);
    }
}

static void a_page_stands_alone(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    char *page = made(make_page, &tree);
    assert_holds(page, "default-src 'none'; style-src 'sha256-");
    assert_int_equal(occurrences(page, "http"),
                     occurrences(page, "http-equiv") + occurrences(page, "http://www.w3.org/2000/svg"));
    static const char *const never[] = {"src=",           "@import", "url(",   "innerHTML", "insertAdjacentHTML",
                                        "document.write", "eval(",   "@STYLE", "@SCRIPT",   "@DATA"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        if (strstr(page, never[i]) != NULL)
            fail_msg("%s in the page", never[i]);
    free(page);
}

static const struct {
    struct bytes name;
    const char *json, *xml;
} hostile[] = {
    {TEXT("</script><script>x()</script>"), "\"\\u003c/script\\u003e\\u003cscript\\u003ex()\\u003c/script\\u003e\"",
     "&#60;/script&#62;&#60;script&#62;x()"},
    {TEXT("a\"b'c\\d&e"), "\"a\\u0022b'c\\u005cd\\u0026e\"", ">a&#34;b&#39;c\\d&#38;e"},
    {TEXT("a\0b\x1b[31m\r\n\x7f"), "\"a\\\\u0000b\\\\u001b[31m\\\\u000d\\\\u000a\\\\u007f\"",
     "a\\u0000b\\u001b[31m\\u000d\\u000a\\u007f"},
    {TEXT("\xE2\x80\xAE"
          "cod\xE2\x80\xA8\xC2\x85"),
     "\"\\\\u202ecod\\\\u2028\\\\u0085\"", "\\u202ecod\\u2028\\u0085"},
    {TEXT("\xFF\xC0\x80\xED\xA0\x80z\xF0\x9F"), "\xEF\xBF\xBDz\xEF\xBF\xBD", "\xEF\xBF\xBDz\xEF\xBF\xBD"},
    {TEXT("\xD7\xA9\xD7\x9C \xE4\xB8\xAD \xF0\x9F\x94\xA5"), "\"\xD7\xA9\xD7\x9C \xE4\xB8\xAD \xF0\x9F\x94\xA5\"",
     ">\xD7\xA9\xD7\x9C \xE4\xB8\xAD \xF0\x9F\x94\xA5<"},
    {TEXT("]]>"), "\"]]\\u003e\"", ">]]&#62;<"},
};

static void hostile_names_are_harmless(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct call_function f = {.name = hostile[i].name, .file = hostile[i].name, .module = hostile[i].name};
        struct call_node two[2];
        struct call_tree tree = tree_of_one(&f, two, 1);
        tree.sample_type = tree.unit = f.name;
        char *data = page_data(&tree, 1), *picture = made(make_picture, &tree);
        assert_holds(data, hostile[i].json);
        assert_holds(picture, hostile[i].xml);
        assert_int_equal(strcspn(data, "<>&"), strlen(data));
        assert_null(strstr(picture, "<script"));
        for (const char *c = picture; *c != '\0'; c++)
            assert_true((uint8_t)*c >= 0x20 || *c == '\n');
        free(data);
        free(picture);
    }
}

static void numbers_are_exact(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {
        {0, "\"wide\":false,\n\"f\":[0,0],\n\"u\":[],\n\"s\":[[]]"},
        {-5, "[[1,-5]]"},
        {9007199254740991, "\"wide\":false,\n\"f\":[0,0],\n\"u\":[],\n\"s\":[[1,9007199254740991]]"},
        {9007199254740992, "\"wide\":true,\n\"f\":[0,0],\n\"u\":[],\n\"s\":[[1,\"9007199254740992\"]]"},
        {-9007199254740992, "[[1,\"-9007199254740992\"]]"},
        {INT64_MAX, "[[1,\"9223372036854775807\"]]"},
        {INT64_MIN, "[[1,\"-9223372036854775808\"]]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct call_function f = NAME("x");
        struct call_node two[2];
        struct call_tree tree = tree_of_one(&f, two, cases[i].value);
        assert_data_holds(&tree, cases[i].text);
    }
}

static void sums_beyond_exact_numbers_are_seen(void **state)
{
    (void)state;
    struct call_node n[] = {{0}, {.self = {9007199254740991}}, {.function = 1, .self = {1}}};
    struct call_tree tree = tree_of(functions, 3, n, 3);
    assert_data_holds(&tree, "\"wide\":true");
    n[1].self[0] = -9007199254740990;
    assert_data_holds(&tree, "\"wide\":false");
    n[2].self[0] = 2; // what is counted on the way may be larger than what comes out
    assert_data_holds(&tree, "\"wide\":true");
}

static void trees_share_their_names(void **state)
{
    (void)state;
    struct call_function other[] = {NAME("cc"), NAME("dd"), NAME("aa")};
    struct call_tree trees[] = {small_tree(), tree_of(other, 3, nodes, 5)};
    trees[1].sample_type = BYTES_LITERAL("samples");
    char *data = page_data(trees, 2);
    assert_int_equal(occurrences(data, "\"aa\""), 1);
    assert_int_equal(occurrences(data, "\"/src/a.c\""), 1);
    assert_holds(data, "\"f\":[0,0,1,2,1]");
    assert_holds(data, "\"f\":[0,2,3,0,3]"); // cc, dd, aa by their numbers in the first tree
    assert_holds(data, "\"type\":\"samples\"");
    free(data);
}

static void own_code_has_strong_colours(void **state)
{
    (void)state;
    struct call_function f = NAME("x"), same_package = NAME("y"), nothing = {0};
    assert_true(flame_color(&f) < FLAME_HUES);
    assert_int_equal(flame_color(&f), flame_color(&same_package));
    same_package.own = false;
    assert_int_equal(flame_color(&same_package), flame_color(&f) + FLAME_HUES);
    assert_true(flame_color(&nothing) >= FLAME_HUES);
}

static void colours_of_page_and_picture_agree(void **state)
{
    (void)state;
    struct call_function f = {.name = BYTES_LITERAL("a.B.c"), .module = BYTES_LITERAL("libx.so")};
    struct call_node two[2];
    struct call_tree tree = tree_of_one(&f, two, 7);
    char part[64];
    snprintf(part, sizeof part, "\"functions\":[0,1,2,%u]", flame_color(&f));
    assert_data_holds(&tree, part);
    snprintf(part, sizeof part, "class=\"c%u\"", flame_color(&f));
    char *picture = made(make_picture, &tree);
    assert_holds(picture, part);
    free(picture);
}

static void steps_go_from_gone_to_doubled(void **state)
{
    (void)state;
    assert_int_equal(flame_step(0.2, 0), 0);
    assert_int_equal(flame_step(0.2, 0.1), 0);
    assert_int_equal(flame_step(0.2, 0.2), FLAME_STEPS / 2);
    assert_int_equal(flame_step(0, 0), FLAME_STEPS / 2);
    assert_int_equal(flame_step(0.1, 0.2), FLAME_STEPS - 1);
    assert_int_equal(flame_step(0, 0.1), FLAME_STEPS - 1);
    assert_int_equal(flame_step(0.1, 0.11), FLAME_STEPS / 2 + 1);
    assert_int_equal(flame_step(-1, 1), FLAME_STEPS - 1);
}

static void two_sides_are_compared(void **state)
{
    (void)state;
    struct call_node n[] = {
        {.total = {100, 200}},
        {.function = 0, .self = {100, 100}, .total = {100, 100}}, // all of it, then half
        {.function = 1, .self = {0, 100}, .total = {0, 100}},
    };
    struct call_tree tree = tree_of(functions, 3, n, 3);
    tree.side_count = 2;
    assert_data_holds(&tree, "\"s\":[[1,100],\n[1,100,0,100]]");
    char *picture = made(make_picture, &tree);
    assert_holds(picture, "<path class=\"d0\" d=\"M12 86h881v19H12\"><title>aa: 100 ns (100.00 %) → 100 ns (50.00 %), "
                          "self 100 ns → 100 ns</title></path>");
    assert_holds(picture, "<path class=\"d10\" d=\"M894 86");
    assert_holds(picture, "<path class=\"d5\" d=\"M12 66h1175v19H12\"><title>all: 100 ns (100.00 %) → 200 ns (100.00 "
                          "%)</title></path><text x=\"16\" y=\"80\">all</text>"); // nothing of its own
    free(picture);
}

static void narrow_frames_are_left_out_and_counted(void **state)
{
    (void)state;
    struct call_node n[] = {
        {.total = {1000000}},
        {.function = 0, .self = {999990}, .total = {999990}},
        {.function = 1, .self = {4}, .total = {10}},
        {.function = 2, .parent = 2, .self = {6}, .total = {6}},
    };
    struct call_tree tree = tree_of(functions, 3, n, 4);
    char *picture = made(make_picture, &tree);
    assert_holds(picture, "2 frames narrower than 0.5 px left out.");
    assert_int_equal(occurrences(picture, "<path"), 2);
    assert_null(strstr(picture, ">bb"));
    free(picture);
    n[1].self[0] = 1000000;
    tree.node_count = 2;
    picture = made(make_picture, &tree);
    assert_null(strstr(picture, "left out"));
    free(picture);
}

static void an_empty_profile_is_a_page_too(void **state)
{
    (void)state;
    struct call_node root = {0};
    struct call_tree tree = tree_of(NULL, 0, &root, 1);
    assert_data_holds(&tree, "\"f\":[0],\n\"u\":[],\n\"s\":[[]]");
    char *picture = made(make_picture, &tree);
    assert_holds(picture, "<path class=\"c16\"");
    free(picture);
}

static void values_that_cancel_out_keep_their_place(void **state)
{
    (void)state;
    struct call_node n[] = {{0}, {.function = 0, .self = {5}}, {.function = 1, .self = {-5}}};
    struct call_tree tree = tree_of(functions, 3, n, 3);
    char *picture = made(make_picture, &tree);
    assert_int_equal(occurrences(picture, "h587v"), 2);
    free(picture);
}

// A chain, a fan and a long name: what the order of frames and the fitting of names have to bear.
static void large_trees_are_walked(void **state)
{
    (void)state;
    enum { COUNT = 20000, NAME_BYTES = 20000 };
    struct call_node *n = mem_alloc(COUNT * sizeof *n);
    uint8_t *name = mem_alloc(NAME_BYTES);
    memset(name, 'x', NAME_BYTES);
    struct call_function f = {.name = {name, NAME_BYTES}};
    struct call_tree tree = tree_of(&f, 1, n, COUNT);
    for (uint32_t fan = 0; fan < 2; fan++) {
        for (uint32_t i = 1; i < COUNT; i++)
            n[i] = (struct call_node){.parent = fan ? 0 : i - 1, .self = {1}};
        struct flame_layout layout;
        assert_int_equal(flame_layout_build(&tree, &layout, NULL), ERR_OK);
        assert_int_equal(layout.depths[COUNT - 1], fan ? 1 : COUNT - 1);
        assert_int_equal(layout.nodes[COUNT - 1], COUNT - 1);
        flame_layout_fini(&layout);
    }
    free(name);
    free(n);
}

static void fails_cleanly_without_memory(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    make_fn *const makes[] = {make_page, make_picture};
    for (size_t i = 0; i < 2; i++) {
        for (size_t n = 1;; n++) {
            struct buf out;
            buf_init(&out, MAX_BYTES);
            mem_fail_from(n);
            enum err_code code = makes[i](&tree, &out);
            bool failed = mem_fail_count() >= n;
            mem_fail_from(0);
            buf_fini(&out);
            assert_int_equal(code, failed ? ERR_MEMORY : ERR_OK);
            if (!failed)
                break;
            assert_true(n < 1000);
        }
    }
}

static void a_full_buffer_is_a_limit(void **state)
{
    (void)state;
    struct call_tree tree = small_tree();
    make_fn *const makes[] = {make_page, make_picture};
    for (size_t i = 0; i < 2; i++) {
        struct buf out;
        buf_init(&out, 1000);
        assert_int_equal(makes[i](&tree, &out), ERR_LIMIT);
        buf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_in_preorder_widest_first),
        cmocka_unit_test(what_was_left_out_is_said),
        cmocka_unit_test(a_page_is_the_same_every_time),
        cmocka_unit_test(a_page_stands_alone),
        cmocka_unit_test(hostile_names_are_harmless),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(sums_beyond_exact_numbers_are_seen),
        cmocka_unit_test(trees_share_their_names),
        cmocka_unit_test(own_code_has_strong_colours),
        cmocka_unit_test(colours_of_page_and_picture_agree),
        cmocka_unit_test(steps_go_from_gone_to_doubled),
        cmocka_unit_test(two_sides_are_compared),
        cmocka_unit_test(narrow_frames_are_left_out_and_counted),
        cmocka_unit_test(an_empty_profile_is_a_page_too),
        cmocka_unit_test(values_that_cancel_out_keep_their_place),
        cmocka_unit_test(large_trees_are_walked),
        cmocka_unit_test(fails_cleanly_without_memory),
        cmocka_unit_test(a_full_buffer_is_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
