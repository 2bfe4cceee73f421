// SPDX-License-Identifier: Apache-2.0
// A rule and labels from any text: an action (one byte), then texts that end with NUL: regex, replacement, target_label,
// names and values of labels. The short ways of matching must tell the same as RE2.
#include "base/buf.h"
#include "base/text.h"
#include "processors/relabel_rules.h"

static struct bytes take_text(struct bytes *rest)
{
    const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->data, '\0', rest->len);
    struct bytes text = {rest->data, end == NULL ? rest->len : (size_t)(end - rest->data)};
    size_t used = text.len + (end != NULL);
    *rest = (struct bytes){rest->data + used, rest->len - used};
    return text;
}

static void check_match(const struct relabel_regex *fast, const struct regex *slow, struct bytes text)
{
    struct bytes a[REGEX_MAX_GROUPS + 1], b[REGEX_MAX_GROUPS + 1];
    bool matches = regex_search(slow, text, a, fast->group_count + 1);
    CHECK(relabel_regex_matches(fast, text) == matches && relabel_regex_match(fast, text, b) == matches);
    for (uint32_t i = 0; matches && i <= fast->group_count; i++)
        CHECK(bytes_equal(a[i], b[i]) && (a[i].data == NULL) == (b[i].data == NULL));
}

// Where RE2 takes the pattern as it is, its answer is compared.
static void compare(const struct relabel_rule *rule, struct bytes pattern, struct label_list *labels)
{
    struct buf wrapped;
    struct regex *slow = NULL;
    struct err e;
    buf_init(&wrapped, 1 << 20);
    buf_add_text(&wrapped, "^(?s:");
    buf_add(&wrapped, pattern.data, pattern.len);
    buf_add_text(&wrapped, ")$");
    if (regex_compile(buf_bytes(&wrapped), &slow, &e) == ERR_OK) {
        CHECK(rule->regex.group_count == regex_group_count(slow));
        for (size_t i = 0; i < labels->count; i++)
            check_match(&rule->regex, slow, labels->items[i].value);
    }
    regex_destroy(&slow);
    buf_fini(&wrapped);
}

static void run_rule(struct arena *arena, const struct relabel_rule_text *text, struct bytes rest)
{
    struct relabel_rule rule;
    struct relabel_run run;
    const char *key;
    struct err e;
    relabel_run_init(&run);
    for (uint32_t i = 1; rest.len != 0; i++) {
        struct label *old;
        struct bytes name = take_text(&rest), value = take_text(&rest);
        CHECK(label_list_find(&run.labels, name, &old));
        if (old == NULL && value.len != 0)
            CHECK(label_list_add(&run.labels, name, value, i));
    }
    enum err_code rc = relabel_rule_compile(arena, text, &rule, &key, &e);
    if (rc == ERR_OK) {
        compare(&rule, text->regex, &run.labels);
        rc = relabel_rule_apply(&rule, &run, &e);
        CHECK(rc == ERR_OK || rc == ERR_LIMIT);
    } else {
        CHECK(rc != ERR_MEMORY && e.text[0] != '\0');
    }
    relabel_rule_fini(&rule);
    relabel_run_fini(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bytes sources[] = {{(const uint8_t *)"a", 1}, {(const uint8_t *)"b", 1}};
    struct arena arena;
    if (size == 0 || size > 4096 || !utf8_valid((struct bytes){data + 1, size - 1}))
        return 0;
    struct bytes rest = {data + 1, size - 1};
    arena_init(&arena, 0);
    struct relabel_rule_text text = {.action = (enum relabel_action)(data[0] % (RELABEL_UPPERCASE + 1)),
                                     .source_labels = sources,
                                     .source_count = data[0] / 16 % 3,
                                     .separator = BYTES_LITERAL(";"),
                                     .modulus = data[0] / 64,
                                     .has_regex = true};
    text.regex = take_text(&rest);
    text.replacement = take_text(&rest);
    text.target_label = take_text(&rest);
    run_rule(&arena, &text, rest);
    arena_fini(&arena);
    return 0;
}
