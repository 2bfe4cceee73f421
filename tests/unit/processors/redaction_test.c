// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/processors/fixture.h"

#include "profile/origin.h"
#include "tests/support/fake_origin.h"

#define SAMPLES(...) ((const struct test_sample[]){__VA_ARGS__, {0, NULL, 0}})

// --- attributes ---

static struct batch *shop(void)
{
    const struct key_value list[] = {PAIR("service.name", TEXT("shop")), PAIR("user", TEXT("bob@example.org")),
                                     PAIR("card", value_int(4111111111111111))},
                           of_scope[] = {PAIR("user", TEXT("eve@example.org"))};
    struct builder *b = builder_create(0);
    builder_resource(b, list, 3, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, of_scope, 1, 0, nothing);
    add_profile(b, &(struct test_profile){"cpu", "host=h1,user=al@example.org",
                                          SAMPLES({0, "thread=1,mail=bob@example.org eve@example.org", 1},
                                                  {0, "thread=2,mail=none", 2}, {0, "", 4})});
    return finish(b);
}

static void assert_redacted(const char *yaml, const char *resource, const char *scope, const char *rest)
{
    char *text, expected[1000];
    struct buf out;
    struct batch *b = processed(&redaction_processor, yaml, shop());
    const struct scope *s = b->resources[0]->scopes[0];
    buf_init(&out, 10000);
    add_list_text(&out, s->attributes, s->attribute_count);
    buf_add_byte(&out, '\0');
    assert_string_equal((const char *)out.data, scope);
    text = brief_text(b);
    snprintf(expected, sizeof expected, "%s\n- cpu%s\n", resource, rest);
    assert_string_equal(text, expected);
    buf_fini(&out);
    free(text);
    batch_unref(&b);
}

static const char whole_resource[] = "service.name=shop,user=bob@example.org,card=4111111111111111",
                  whole_scope[] = "user=eve@example.org",
                  whole_rest[] = "{host=h1,user=al@example.org}: {thread=1,mail=bob@example.org eve@example.org}1 "
                                 "{thread=2,mail=none}2 {}4";

static void keys_that_are_not_allowed_go(void **state)
{
    (void)state;
    assert_redacted("{}", "", "", "{}: {}1 {}2 {}4");
    assert_redacted("allow_all_keys: true", whole_resource, whole_scope, whole_rest);
    assert_redacted("allowed_keys: [service.name, thread]", "service.name=shop", "", "{}: {thread=1}1 {thread=2}2 {}4");
    assert_redacted("{allowed_keys: [service.name], ignored_keys: [user], ignored_key_patterns: ['^hos']}",
                    "service.name=shop,user=bob@example.org", whole_scope,
                    "{host=h1,user=al@example.org}: {}1 {}2 {}4");
}

static void values_are_masked_where_something_is_found(void **state)
{
    (void)state;
    assert_redacted("{allow_all_keys: true, blocked_values: ['[a-z]+@example[.]org', '^4[0-9]{15}$']}",
                    "service.name=shop,user=****,card=4111111111111111", "user=****",
                    "{host=h1,user=****}: {thread=1,mail=**** ****}1 {thread=2,mail=none}2 {}4");
    assert_redacted("{allow_all_keys: true, redact_all_types: true, blocked_values: '^4[0-9]{15}$'}",
                    "service.name=shop,user=bob@example.org,card=****", whole_scope, whole_rest);
    assert_redacted(
        "{allow_all_keys: true, blocked_values: ['^.'], ignored_keys: [user, mail, host], allowed_values: [op]}",
        whole_resource, whole_scope,
        "{host=h1,user=al@example.org}: {thread=****,mail=bob@example.org eve@example.org}1 "
        "{thread=****,mail=none}2 {}4");
    assert_redacted("{allow_all_keys: true, blocked_key_patterns: [card, '^us']}",
                    "service.name=shop,user=****,card=****", "user=****",
                    "{host=h1,user=****}: {thread=1,mail=bob@example.org eve@example.org}1 "
                    "{thread=2,mail=none}2 {}4");
}

#define KEY_32 "0123456789abcdef0123456789abcdef"

// The figures are those of openssl dgst.
static void hashes_stand_for_texts(void **state)
{
    (void)state;
    static const struct {
        const char *hash, *key, *expected;
    } cases[] = {
        {"md5", NULL, "5ebe2294ecd0e0f08eab7690d2a6ee69"},
        {"sha1", NULL, "e5e9fa1ba31ecd1ae84f75caaa474f3a663f05f4"},
        {"sha3", NULL, "f5a5207a8729b1f709cb710311751eb2fc8acad5a1fb8ac991b736e69b6529a3"},
        {"sha256", NULL, "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"},
        {"hmac-sha256", KEY_32, "0ad814968caefdecab8a6c0c55414688fdcad02f100ee7ac5def2352aaff36e5"},
        {"hmac-sha512", KEY_32 KEY_32,
         "651e2e336f39da90d13b792bdb9b9af4cbbc7e5b8b525b008a9ed51cbb262f9c"
         "7dc4f7152f1a98060d57d1fddbb9965f8ae52e23fff503fddd926666b712f6d7"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char yaml[300], expected[300];
        const struct key_value list[] = {PAIR("a", TEXT("a secret here")), PAIR("token", TEXT("secret"))};
        struct builder *b = builder_create(0);
        builder_resource(b, list, 2, 0, nothing);
        snprintf(yaml, sizeof yaml,
                 "{allow_all_keys: true, blocked_values: secret, blocked_key_patterns: token, hash_function: %s%s%s}",
                 cases[i].hash, cases[i].key == NULL ? "" : ", hmac_key: ", cases[i].key == NULL ? "" : cases[i].key);
        snprintf(expected, sizeof expected, "a=a %s here,token=%s\n", cases[i].expected, cases[i].expected);
        assert_processed(&redaction_processor, yaml, finish(b), expected);
    }
}

static void a_summary_tells_what_was_done(void **state)
{
    (void)state;
    assert_redacted("{allowed_keys: [service.name, mail, user], blocked_values: ['[a-z]+@'], summary: info}",
                    "service.name=shop,user=****example.org,redaction.redacted.count=1,redaction.masked.count=1",
                    "user=****example.org,redaction.masked.count=1",
                    "{user=****example.org,redaction.redacted.count=1,redaction.masked.count=1}: "
                    "{mail=****example.org ****example.org,redaction.redacted.count=1,redaction.masked.count=1}1 "
                    "{mail=none,redaction.redacted.count=1}2 {}4");
    assert_redacted("{allowed_keys: [thread], summary: debug}",
                    "redaction.redacted.keys=service.name,user,card,redaction.redacted.count=3",
                    "redaction.redacted.keys=user,redaction.redacted.count=1",
                    "{redaction.redacted.keys=host,user,redaction.redacted.count=2}: "
                    "{thread=1,redaction.redacted.keys=mail,redaction.redacted.count=1}1 "
                    "{thread=2,redaction.redacted.keys=mail,redaction.redacted.count=1}2 {}4");
}

static void a_summary_goes_on_with_one_that_is_there(void **state)
{
    (void)state;
    const struct key_value list[] = {PAIR("redaction.masked.count", value_int(2)),
                                     PAIR("redaction.masked.keys", TEXT("x,y")),
                                     PAIR("a", TEXT("secret")),
                                     PAIR("b", TEXT("secret, but fine")),
                                     PAIR("c", TEXT("")),
                                     PAIR("d", TEXT(""))};
    struct builder *b = builder_create(0);
    builder_resource(b, list, 6, 0, nothing);
    assert_processed(
        &redaction_processor,
        "{allowed_keys: [a, b], ignored_keys: c, blocked_values: secret, allowed_values: fine, summary: debug}",
        finish(b),
        "redaction.masked.count=3,redaction.masked.keys=x,y,a,a=****,b=secret, but fine,c=,"
        "redaction.redacted.keys=d,redaction.redacted.count=1,redaction.allowed.keys=b,"
        "redaction.allowed.count=1,redaction.ignored.count=1\n");
}

static void texts_within_lists_and_maps_are_masked(void **state)
{
    (void)state;
    const struct key_value inner[] = {PAIR("password", value_int(7)), PAIR("who", TEXT("bob"))};
    const struct value items[] = {
        TEXT("--user=bob"), value_int(4711), {.kind = VALUE_KVLIST, .count = 2, .entries = inner}};
    const struct key_value list[] = {{BYTES_LITERAL("args"), {.kind = VALUE_ARRAY, .count = 3, .items = items}},
                                     {BYTES_LITERAL("rest"), {.kind = VALUE_ARRAY, .count = 2, .items = items + 1}}};
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"{allow_all_keys: true, blocked_values: bob, blocked_key_patterns: pass}",
         "args=[\"--user=****\",4711,{\"password\":\"****\",\"who\":\"****\"}],"
         "rest=[4711,{\"password\":\"****\",\"who\":\"****\"}]\n"},
        {"{allow_all_keys: true, blocked_values: '47', redact_all_types: true}",
         "args=[\"--user=bob\",\"****11\",{\"password\":7,\"who\":\"bob\"}],"
         "rest=[\"****11\",{\"password\":7,\"who\":\"bob\"}]\n"},
        {"{allow_all_keys: true, blocked_values: ['7,\"who'], redact_all_types: true}", // across
         "args=[\"--user=bob\",4711,\"{\\\"password\\\":****\\\":\\\"bob\\\"}\"],"
         "rest=[4711,\"{\\\"password\\\":****\\\":\\\"bob\\\"}\"]\n"},
        {"{allow_all_keys: true, blocked_values: bob, allowed_values: user}",
         "args=[\"--user=bob\",4711,{\"password\":7,\"who\":\"****\"}],rest=[4711,{\"password\":7,\"who\":\"****\"}]"
         "\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct builder *b = builder_create(0);
        builder_resource(b, list, 2, 0, nothing);
        assert_processed(&redaction_processor, cases[i].yaml, finish(b), cases[i].expected);
    }
}

// What senders repeat by reference is looked at once: a long value or key in many lists.
static void what_many_lists_share_is_looked_at_once(void **state)
{
    (void)state;
    enum { SETS = 8000 };
    const struct value shared = value_string(long_text());
    struct builder *b = builder_create(0);
    struct sample_writer samples;
    add_service(b, "app");
    sample_writer_init(&samples, b);
    const uint32_t long_value = builder_attribute(b, builder_string_text(b, "a"), 0, &shared),
                   long_key = builder_string(b, long_text());
    for (int i = 0; i < SETS; i++) {
        const struct value v = value_int(i);
        const uint32_t ids[] = {long_value, builder_attribute(b, long_key, 0, &v)};
        sample_writer_add(&samples, 0, builder_attribute_set(b, ids, 2), 0);
    }
    add_written(b, &samples, SETS, (struct profile){0});
    assert_quick(&redaction_processor, "{allow_all_keys: true, blocked_values: [y, 'x$'], blocked_key_patterns: xy}",
                 finish(b));
}

// One find and a list is copied.
static void what_is_new_is_bounded(void **state)
{
    (void)state;
    enum { ITEMS = 1 << 21 };
    struct value *items = mem_alloc(ITEMS * sizeof *items);
    memset(items, 0, ITEMS * sizeof *items);
    items[0] = TEXT("bob");
    const struct value array = {.kind = VALUE_ARRAY, .count = ITEMS, .items = items};
    const struct key_value list[] = {PAIR("a", array), PAIR("b", array)};
    struct builder *b = builder_create(0);
    builder_resource(b, list, 2, 0, nothing);
    struct batch *batch = finish(b), *before = batch;
    struct test_run r;
    run_begin(&r, &redaction_processor, "{allow_all_keys: true, blocked_values: bob}");
    assert_int_equal(run_process(&r, &batch), ERR_LIMIT);
    assert_string_equal(r.e.text, "what stands for masked values would take more than the 64 MiB allowed: send smaller "
                                  "requests, or set hash_function: none");
    assert_ptr_equal(batch, before);
    run_end(&r);
    batch_unref(&batch);
    free(items);
}

static void many_finds_mask_the_whole(void **state)
{
    (void)state;
    static char text[1 << 16];
    memset(text, 'x', sizeof text - 1);
    const struct key_value list[] = {{BYTES_LITERAL("a"), value_string(bytes_from_text(text))}};
    struct builder *b = builder_create(0);
    builder_resource(b, list, 1, 0, nothing);
    assert_processed(&redaction_processor, "{allow_all_keys: true, blocked_values: ['x(.*y)?']}", finish(b),
                     "a=****\n");
    b = builder_create(0);
    const struct key_value empty[] = {PAIR("a", TEXT("xay")), PAIR("b", TEXT(""))};
    builder_resource(b, empty, 2, 0, nothing);
    assert_processed(&redaction_processor, "{allow_all_keys: true, blocked_values: ['a*']}", finish(b),
                     "a=x****y,b=\n");
    b = builder_create(0); // searches that find nothing cost as much as others
    builder_resource(b, list, 1, 0, nothing);
    assert_processed(&redaction_processor, "{allow_all_keys: true, blocked_values: ['(x.*y)?']}", finish(b),
                     "a=****\n");
}

// --- names and paths ---

static struct batch *code(void)
{
    struct builder *b = builder_create(0);
    add_service(b, "app");
    const uint32_t build_id = set_of(b, "build_id=abc,owner=bob"),
                   app = builder_mapping(
                       b, &(struct batch_mapping){.memory_start = 1,
                                                  .filename = builder_string_text(b, "/home/bob/bin/app"),
                                                  .attribute_set = build_id});
    const struct batch_function named = {.name = builder_string_text(b, "bob::pay"),
                                         .system_name = builder_string_text(b, "_ZN3bob3payEv"),
                                         .filename = builder_string_text(b, "/home/bob/src/pay.cc")},
                                other = {.name = builder_string_text(b, "main"),
                                         .filename = builder_string_text(b, "/usr/src/bob::pay")};
    const struct batch_line lines[] = {{builder_function(b, &named), 7, 0}, {builder_function(b, &other), 8, 0}};
    const uint32_t location = builder_location(
        b, &(struct batch_location){.mapping = app, .address = 16, .attribute_set = build_id}, lines, 2);
    const uint32_t stack = builder_stack(b, &location, 1);
    add_profile(b,
                &(struct test_profile){"cpu", "build_id=abc,owner=bob", SAMPLES({stack, "build_id=abc,owner=bob", 3})});
    return finish(b);
}

static bool has_string(const struct dictionary *d, const char *part)
{
    for (uint32_t i = 0; i < d->string_count; i++)
        if (d->strings[i].len > 0 && memmem(d->strings[i].data, d->strings[i].len, part, strlen(part)) != NULL)
            return true;
    return false;
}

static bool has_value(const struct dictionary *d, const char *text)
{
    for (uint32_t i = 0; i < d->attribute_count; i++)
        if (d->attributes[i].value.kind == VALUE_STRING && bytes_equal_text(d->attributes[i].value.bytes, text))
            return true;
    return false;
}

static struct bytes text_of(const struct dictionary *d, uint32_t id)
{
    return d->strings[id];
}

static void names_and_paths_are_masked(void **state)
{
    (void)state;
    struct batch *b = processed(&redaction_processor,
                                "{allow_all_keys: true, blocked_function_names: ['^bob', '3bob'],"
                                " blocked_file_paths: ['^/home/[^/]+']}",
                                code());
    const struct dictionary *d = b->dictionary;
    const uint32_t stack = b->resources[0]->scopes[0]->profiles[0].columns->stacks[0];
    struct stack_reader r;
    uint32_t location;
    stack_reader_init(&r, d, stack);
    assert_true(stack_next(&r, &location));
    const struct batch_line *lines = d->lines + d->locations[location].line_start;
    const struct batch_function *first = &d->functions[lines[0].function], *second = &d->functions[lines[1].function];
    assert_true(bytes_equal_text(text_of(d, first->name), "****::pay"));
    assert_true(bytes_equal_text(text_of(d, first->system_name), "_ZN****3payEv"));
    assert_true(bytes_equal_text(text_of(d, first->filename), "****/src/pay.cc"));
    assert_true(bytes_equal_text(text_of(d, second->name), "main"));
    assert_true(bytes_equal_text(text_of(d, second->filename), "/usr/src/bob::pay")); // a path, no name
    assert_true(bytes_equal_text(text_of(d, d->mappings[d->locations[location].mapping].filename), "****/bin/app"));
    assert_int_equal(lines[0].line, 7);
    assert_int_equal(d->locations[location].address, 16);
    assert_false(has_string(d, "/home/bob")); // no old text is left
    batch_unref(&b);
}

// A build id is needed for symbols: nothing is removed there, but masked.
static void attributes_of_code_stay_but_are_masked(void **state)
{
    (void)state;
    struct batch *b = processed(&redaction_processor, "{allowed_keys: [service.name], blocked_values: bob}", code());
    char *text = brief_text(b);
    assert_string_equal(text, "service.name=app\n- cpu{}: bob::pay+main{}3\n");
    free(text);
    struct buf out;
    buf_init(&out, 1000);
    add_set_text(&out, b->dictionary, b->dictionary->mappings[1].attribute_set);
    buf_add_byte(&out, '\0');
    assert_string_equal((const char *)out.data, "build_id=abc,owner=****");
    assert_int_equal(b->dictionary->mappings[1].attribute_set, b->dictionary->locations[1].attribute_set);
    assert_false(has_value(b->dictionary, "bob"));
    buf_fini(&out);
    batch_unref(&b);
}

// --- all ---

static uint32_t payloads_of(const struct batch *b)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                count += b->resources[r]->scopes[s]->profiles[p].original_payload.len > 0;
    return count;
}

static void original_files_go_unless_wanted(void **state)
{
    (void)state;
    uint32_t before = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *b = random_batch(seed, NULL), *out;
        before += payloads_of(b);
        out = processed(&redaction_processor, "allow_all_keys: true", batch_ref(b));
        assert_int_equal(payloads_of(out), 0);
        batch_unref(&out);
        out = processed(&redaction_processor, "{allow_all_keys: true, keep_original_payload: true}", batch_ref(b));
        assert_ptr_equal(out, b);
        batch_unref(&out);
        batch_unref(&b);
    }
    assert_true(before > 0);
}

static void names_of_scopes_are_masked(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    builder_resource(b, NULL, 0, 0, nothing);
    builder_scope(b, BYTES_LITERAL("/home/bob/bin/profiler of eve"), BYTES_LITERAL("v1"), NULL, 0, 0, nothing);
    struct batch *out =
        processed(&redaction_processor,
                  "{allow_all_keys: true, blocked_file_paths: ['^/home/[a-z]+'], blocked_values: [eve]}", finish(b));
    const struct scope *s = out->resources[0]->scopes[0];
    assert_true(bytes_equal_text(s->name, "****/bin/profiler of ****"));
    assert_true(bytes_equal_text(s->version, "v1"));
    batch_unref(&out);
}

// A JFR recording that is handed on is nothing else.
static void a_profile_that_is_its_file_alone_goes_with_it(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    add_service(b, "app");
    struct sample_writer samples;
    sample_writer_init(&samples, b);
    add_written(b, &samples, 0,
                (struct profile){.original_payload_format = BYTES_LITERAL("jfr"),
                                 .original_payload = BYTES_LITERAL("bob's recording")});
    struct batch *batch = finish(b), *out;
    assert_int_equal(payloads_of(batch), 1);
    out = processed(&redaction_processor, "{allow_all_keys: true, keep_original_payload: true}", batch_ref(batch));
    assert_int_equal(payloads_of(out), 1);
    batch_unref(&out);
    assert_null(processed(&redaction_processor, "allow_all_keys: true", batch));
}

// The bytes a batch came from may hold more than the batch: they are not sent on, whatever is found.
static void nothing_goes_on_as_it_came(void **state)
{
    (void)state;
    struct fake_origin *origin;
    struct err e;
    struct batch *read = code(), *b = fake_unread_batch(read, 100, &origin);
    assert_int_equal(batch_open(&b, 0, &e), ERR_OK);
    assert_true(batch_as_came(b));
    b = processed(&redaction_processor, "{allow_all_keys: true, blocked_values: none}", b);
    assert_null(b->origin);
    batch_unref(&b);
    batch_unref(&read);
}

static void no_blocked_text_is_left_and_no_value_changes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *b = random_batch(seed, NULL);
        struct batch *out = processed(&redaction_processor,
                                      "{allow_all_keys: true, keep_original_payload: true, redact_all_types: true, "
                                      "blocked_values: ['main[0-9]+'],"
                                      " blocked_function_names: ['gc'], blocked_file_paths: ['a b']}",
                                      batch_ref(b));
        assert_same_totals(b, out);
        assert_int_equal(out->profile_count, b->profile_count);
        const struct dictionary *d = out->dictionary;
        for (uint32_t i = 0; i < d->attribute_count; i++) {
            struct buf text;
            buf_init(&text, 10000);
            value_print(&text, &d->attributes[i].value);
            assert_true(text.len == 0 || memmem(text.data, text.len, "main", 4) == NULL);
            buf_fini(&text);
        }
        for (uint32_t i = 0; i < d->function_count; i++) {
            const struct bytes name = d->strings[d->functions[i].name], file = d->strings[d->functions[i].filename];
            assert_true(name.len == 0 || memmem(name.data, name.len, "gc", 2) == NULL);
            assert_true(file.len == 0 || memmem(file.data, file.len, "a b", 3) == NULL);
        }
        batch_unref(&out);
        batch_unref(&b);
    }
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    assert_memory_may_fail(
        &redaction_processor,
        "{allowed_keys: [service.name, owner], blocked_values: [b], hash_function: sha256, summary: debug,"
        " blocked_function_names: ['^bob'], blocked_file_paths: ['^/home/[^/]+']}",
        code(), 30);
    assert_memory_may_fail(&redaction_processor, "{allowed_keys: [x1], redact_all_types: true, blocked_values: [a]}",
                           random_batch(5, NULL), 30);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *expected;
    } cases[] = {
        {"blocked_values: [a, '(']",
         "test:1:1: processors.redaction: blocked_values: [1]: \"(\" is no regular expression: missing ): (\n"},
        {"{hash_function: hmac-sha256}",
         "test:1:2: processors.redaction: hash_function: hmac-sha256 needs `hmac_key`\n"},
        {"{hash_function: hmac-sha512, hmac_key: 0123456789abcdef}",
         "test:1:30: processors.redaction: hmac_key: has 16 characters, hmac-sha512 needs at least 64: a short one can "
         "be found out\n"},
        {"{hmac_key: x}", "test:1:2: processors.redaction: hmac_key: has no meaning unless hash_function is "
                          "hmac-sha256 or hmac-sha512\n"},
        {"{allow_all_keys: true, allowed_keys: [a]}",
         "test:1:24: processors.redaction: allowed_keys: has no meaning beside allow_all_keys: true\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_setting_error(&redaction_processor, cases[i].yaml, cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_are_not_allowed_go),
        cmocka_unit_test(values_are_masked_where_something_is_found),
        cmocka_unit_test(hashes_stand_for_texts),
        cmocka_unit_test(a_summary_tells_what_was_done),
        cmocka_unit_test(a_summary_goes_on_with_one_that_is_there),
        cmocka_unit_test(texts_within_lists_and_maps_are_masked),
        cmocka_unit_test(what_many_lists_share_is_looked_at_once),
        cmocka_unit_test(what_is_new_is_bounded),
        cmocka_unit_test(many_finds_mask_the_whole),
        cmocka_unit_test(names_and_paths_are_masked),
        cmocka_unit_test(attributes_of_code_stay_but_are_masked),
        cmocka_unit_test(original_files_go_unless_wanted),
        cmocka_unit_test(names_of_scopes_are_masked),
        cmocka_unit_test(a_profile_that_is_its_file_alone_goes_with_it),
        cmocka_unit_test(nothing_goes_on_as_it_came),
        cmocka_unit_test(no_blocked_text_is_left_and_no_value_changes),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
        cmocka_unit_test(wrong_settings_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
