// SPDX-License-Identifier: Apache-2.0
// relabel_cases FILE: runs our rules on the cases that `judge relabel-cases` wrote (the layout is in
// tests/interop/judge/relabel.go) and compares with what Prometheus made of them. Exit code 1 if one differs.
#include "base/buf.h"
#include "processors/processors.h"
#include "processors/relabel_settings.h"
#include "tests/support/fake_env.h"
#include "tests/support/test_files.h"

#include <stdlib.h>

enum { MAX_RULES = 16, MAX_SHOWN = 20 };

struct cursor {
    const uint8_t *at, *end;
};

static uint32_t read_number(struct cursor *c)
{
    CHECK(c->end - c->at >= 4);
    uint32_t n = (uint32_t)c->at[0] | (uint32_t)c->at[1] << 8 | (uint32_t)c->at[2] << 16 | (uint32_t)c->at[3] << 24;
    c->at += 4;
    return n;
}

static struct bytes read_text(struct cursor *c)
{
    size_t len = read_number(c);
    CHECK((size_t)(c->end - c->at) >= len);
    c->at += len;
    return (struct bytes){c->at - len, len};
}

static void print_label(struct buf *out, struct bytes name, struct bytes value)
{
    buf_add_byte(out, ' ');
    buf_add(out, name.data, name.len);
    buf_add_byte(out, '=');
    buf_add(out, value.data, value.len);
}

static void print_set(struct cursor *c, struct buf *out)
{
    for (uint32_t n = read_number(c); n > 0; n--) {
        struct bytes name = read_text(c);
        print_label(out, name, read_text(c));
    }
}

static void print_expected(struct cursor *c, struct buf *out)
{
    bool kept = read_number(c) != 0;
    buf_add_text(out, kept ? "kept" : "dropped");
    if (kept)
        print_set(c, out);
}

static void print_result(struct relabel_run *run, struct buf *out)
{
    buf_add_text(out, run->kept ? "kept" : "dropped");
    label_list_sort(&run->labels);
    for (size_t i = 0; run->kept && i < run->labels.count; i++)
        if (run->labels.items[i].value.len != 0)
            print_label(out, run->labels.items[i].name, run->labels.items[i].value);
}

// One list of rules at a time.
struct rules {
    struct fake_env env;
    struct bytes yaml;
    struct relabel_rule items[MAX_RULES];
    size_t count;
    unsigned cases, different;
};

static void compile_rules(struct rules *r, const struct relabel_settings *s)
{
    const char *key;
    struct err e;
    r->count = relabel_settings_rule_count(s);
    CHECK(r->count <= MAX_RULES);
    for (size_t i = 0; i < r->count; i++) {
        const struct relabel_rule_text text = relabel_settings_rule(&r->env.arena, s, i);
        CHECK(relabel_rule_compile(&r->env.arena, &text, &r->items[i], &key, &e) == ERR_OK);
    }
}

static void apply_rules(const struct rules *r, struct cursor *c, struct buf *out)
{
    struct relabel_run run;
    struct err e;
    relabel_run_init(&run);
    for (uint32_t n = read_number(c); n > 0; n--) {
        struct bytes name = read_text(c), value = read_text(c);
        CHECK(value.len == 0 || label_list_add(&run.labels, name, value, 0));
    }
    label_list_sort(&run.labels);
    for (size_t i = 0; run.kept && i < r->count; i++)
        CHECK(relabel_rule_apply(&r->items[i], &run, &e) == ERR_OK);
    print_result(&run, out);
    relabel_run_fini(&run);
}

static void complain(struct rules *r, struct bytes set, struct bytes ours, struct bytes theirs)
{
    if (r->different++ < MAX_SHOWN)
        printf("%.*s  of:    %.*s\n  ours:   %.*s\n  theirs: %.*s\n", BYTES_PRINT(r->yaml), BYTES_PRINT(set),
               BYTES_PRINT(ours), BYTES_PRINT(theirs));
}

static void check_set(struct rules *r, struct cursor *c)
{
    struct buf set, ours, theirs;
    struct cursor again = *c;
    buf_init(&set, 1 << 24);
    buf_init(&ours, 1 << 24);
    buf_init(&theirs, 1 << 24);
    print_set(&again, &set);
    apply_rules(r, c, &ours);
    print_expected(c, &theirs);
    CHECK(buf_ok(&set) && buf_ok(&ours) && buf_ok(&theirs));
    if (!bytes_equal(buf_bytes(&ours), buf_bytes(&theirs)))
        complain(r, buf_bytes(&set), buf_bytes(&ours), buf_bytes(&theirs));
    r->cases++;
    buf_fini(&set);
    buf_fini(&ours);
    buf_fini(&theirs);
}

static void check_list(struct rules *r, struct cursor *c)
{
    void *settings;
    r->yaml = read_text(c);
    uint32_t sets_plus_one = read_number(c);
    const char *text = arena_copy_text(&r->env.arena, (const char *)r->yaml.data, r->yaml.len);
    char *problems = fake_settings(&r->env, KIND_PROCESSOR, &relabel_processor.module, text, &settings);
    bool refused = problems[0] != '\0';
    r->count = 0;
    if (!refused)
        compile_rules(r, settings);
    if (refused != (sets_plus_one == 0))
        complain(r, (struct bytes){NULL, 0}, bytes_from_text(refused ? problems : "accepted"),
                 bytes_from_text(refused ? "accepted" : "refused"));
    r->cases += sets_plus_one == 0;
    for (uint32_t i = 1; i < sets_plus_one; i++)
        check_set(r, c);
    for (size_t i = 0; i < r->count; i++)
        relabel_rule_fini(&r->items[i]);
    free(problems);
    arena_fini(&r->env.arena);
}

int main(int argc, char **argv)
{
    struct rules r = {.cases = 0};
    CHECK(argc == 2);
    struct bytes file = test_read_file(argv[1]);
    struct cursor c = {file.data, file.data + file.len};
    fake_env_init(&r.env, 1);
    while (c.at < c.end)
        check_list(&r, &c);
    fake_env_fini(&r.env);
    free((void *)(uintptr_t)file.data);
    printf("%u cases, %u differ\n", r.cases, r.different);
    return r.different != 0;
}
