// SPDX-License-Identifier: Apache-2.0
// What is printed is compared with files of tests/golden; PROFRELAY_WRITE_GOLDEN=1 writes them anew.
#include "tests/unit/view/tree_fixture.h"

#include "base/clean_text.h"
#include "base/mem.h"
#include "codec/pprof.h"
#include "profile/merge.h"
#include "tests/support/pprof_bytes.h"
#include "tests/support/random_batch.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 16 << 20 };

static void assert_golden(const char *name, struct buf *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", TEST_GOLDEN_DIR, name);
    assert_true(buf_ok(out));
    if (getenv("PROFRELAY_WRITE_GOLDEN") != NULL) {
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(out->data, 1, out->len, f), out->len);
        assert_int_equal(fclose(f), 0);
    }
    const struct bytes expected = test_read_file(path);
    if (!bytes_equal(expected, buf_bytes(out)))
        fail_msg("%s is not what was printed:\n%.*s", path, (int)out->len, (const char *)out->data);
    free((void *)expected.data);
    buf_fini(out);
}

// --- values ---

static void assert_value(int64_t value, const char *unit, const char *expected)
{
    char text[VALUE_TEXT_MAX];
    assert_string_equal(value_text(text, sizeof text, value, bytes_from_text(unit)), expected);
}

static void values_are_in_their_unit(void **state)
{
    (void)state;
    assert_value(0, "nanoseconds", "0 s");
    assert_value(999, "nanoseconds", "999 ns");
    assert_value(1000, "nanoseconds", "1.00 us");
    assert_value(999499, "nanoseconds", "999 us");
    assert_value(999500, "nanoseconds", "1.00 ms");
    assert_value(1530000000, "nanoseconds", "1.53 s");
    assert_value(-15300000, "microseconds", "-15.3 s");
    assert_value(119, "seconds", "119 s");
    assert_value(150, "seconds", "2.50 min");
    assert_value(7200000, "milliseconds", "2.00 h");
    assert_value(INT64_MIN, "s", "-2562047788015216 h");
    assert_value(812, "bytes", "812 B");
    assert_value(0, "bytes", "0 B");
    assert_value(1023, "bytes", "1023 B");
    assert_value(1024, "bytes", "1.00 KiB");
    assert_value((1 << 20) - 513, "bytes", "1023 KiB");
    assert_value((1 << 20) - 512, "bytes", "1.00 MiB");
    assert_value(-12400000, "bytes", "-11.8 MiB");
    assert_value(480279244, "By", "458 MiB"); // pprof: 458.03MB
    assert_value(INT64_MIN, "bytes", "-8.00 EiB");
    assert_value(1234567, "count", "1234567");
    assert_value(INT64_MIN, "", "-9223372036854775808");
}

// --- tables ---

static const char *const before[] = {"main@/srv/shop/main.go;work@/srv/shop/work.go;malloc!/lib/libc.so.6",
                                     "main@/srv/shop/main.go;idle",
                                     "main@/srv/shop/main.go;work@/srv/shop/work.go",
                                     "main@/srv/shop/main.go;odd\x1b[31m\nname",
                                     "run@a.py",
                                     "run@b.py",
                                     NULL};
static const char *const after[] = {"main@/srv/shop/main.go;idle", "run@a.py",
                                    "main@/srv/shop/main.go;work@/srv/shop/work.go;malloc!/lib/libc.so.6",
                                    "main@/srv/shop/main.go;new\xc2\x9b", NULL};

// One or two batches of one sample type, which are given back.
static void print(void (*printer)(const struct function_table *, uint32_t, struct buf *), struct batch *a,
                  struct batch *b, uint32_t rows, enum function_order order, struct buf *out)
{
    static const struct call_tree_options options = {0};
    const struct batch *sides[] = {a, b};
    struct function_table table;
    assert_int_equal(function_table_build(sides, b != NULL ? 2 : 1, &options, &table, NULL), ERR_OK);
    function_table_sort(&table, order);
    buf_init(out, MAX_BYTES);
    printer(&table, rows, out);
    assert_true(clean_text_is(buf_bytes(out)));
    assert_int_equal(out->data[out->len - 1], '\n');
    function_table_fini(&table);
    batch_unref(&a);
    batch_unref(&b);
}

static void top_is_as_before(void **state)
{
    (void)state;
    struct buf out;
    print(top_print, batch_of("cpu", "milliseconds", before), NULL, 0, ORDER_SELF, &out);
    assert_golden("top.txt", &out);
    print(top_print, batch_of("alloc_space", "bytes", before), NULL, 2, ORDER_TOTAL, &out);
    assert_golden("top_of_total.txt", &out);
    print(top_print, batch_of("samples", "count", (const char *[]){NULL}), NULL, 0, ORDER_SELF, &out);
    assert_golden("top_of_nothing.txt", &out);
}

static void diff_is_as_before(void **state)
{
    (void)state;
    struct buf out;
    print(diff_print, batch_of("cpu", "seconds", before), batch_of("cpu", "seconds", after), 0, ORDER_CHANGE, &out);
    assert_golden("diff.txt", &out);
    print(diff_print, batch_of("cpu", "seconds", before), batch_of("cpu", "seconds", after), 1, ORDER_CHANGE, &out);
    assert_golden("diff_of_one.txt", &out);
    print(diff_print, batch_of("cpu", "seconds", after), batch_of("cpu", "seconds", after), 0, ORDER_CHANGE, &out);
    assert_golden("diff_of_the_same.txt", &out);
}

static void sums_at_the_ends_are_printed(void **state)
{
    (void)state;
    struct batch_writer w;
    struct batch *sides[2];
    struct buf out;
    for (int i = 0; i < 2; i++) {
        batch_writer_init(&w);
        batch_writer_sample(&w, "a", i == 0 ? INT64_MIN : INT64_MAX);
        batch_writer_sample(&w, "b", i == 0 ? INT64_MAX : 0);
        batch_writer_profile(&w, "cpu", "count", NULL, NULL);
        sides[i] = batch_writer_finish(&w);
    }
    print(diff_print, sides[0], sides[1], 0, ORDER_CHANGE, &out);
    assert_non_null(memmem(out.data, out.len, "+9223372036854775807", 20));
    buf_fini(&out);
}

// --- the dump ---

static struct batch *small_pprof(void)
{
    struct pprof_bytes p;
    struct batch *b;
    struct err e = {0};
    const struct key_value service = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("shop\x1b[0m"))};
    const struct decode_options options = {.resource_attributes = &service, .resource_attribute_count = 1};
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    if (pprof_decode(buf_bytes(&p.out), &options, &b, NULL, &e) != ERR_OK)
        fail_msg("%s", e.text);
    pprof_bytes_fini(&p);
    return b;
}

static void dump_is_as_before(void **state)
{
    (void)state;
    struct buf out;
    struct batch *b = small_pprof();
    buf_init(&out, MAX_BYTES);
    show_print(b, &out);
    batch_unref(&b);
    assert_golden("show.txt", &out);
}

static void dump_of(const struct batch *b, struct buf *out)
{
    buf_init(out, MAX_BYTES);
    show_print(b, out);
}

static uint32_t attribute(struct builder *b, const char *key, struct value v, const char *unit)
{
    return builder_attribute(b, builder_string_text(b, key), builder_string_text(b, unit), &v);
}

static uint32_t whole_stack(struct builder *b)
{
    const struct batch_function inner = {.name = builder_string_text(b, "shop::add"),
                                         .system_name = builder_string_text(b, "_ZN4shop3addEv"),
                                         .filename = builder_string_text(b, "/src/shop.cc"),
                                         .start_line = 10};
    const struct batch_function outer = {.name = builder_string_text(b, "main")}, unnamed = {.start_line = 3};
    const struct batch_mapping app = {
        .memory_start = 4096, .memory_limit = 8192, .filename = builder_string_text(b, "/srv/app")};
    const uint32_t kind = attribute(b, "profile.frame.type", value_string(BYTES_LITERAL("native")), "");
    const struct batch_line lines[] = {{.function = builder_function(b, &inner), .line = 12, .column = 5},
                                       {.function = builder_function(b, &outer), .line = 7}},
                            line = {.function = builder_function(b, &unnamed)};
    const struct batch_location first = {
        .address = 4100, .mapping = builder_mapping(b, &app), .attribute_set = builder_attribute_set(b, &kind, 1)};
    const uint32_t stack[] = {builder_location(b, &first, lines, 2),
                              builder_location(b, &(struct batch_location){.address = 5}, &line, 1),
                              builder_location(b, &(struct batch_location){.mapping = first.mapping}, NULL, 0)};
    return builder_stack(b, stack, 3);
}

static uint32_t sample_labels(struct builder *b)
{
    const struct value nothing = {0}, raw = {.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("\x00\xff")};
    const uint32_t ids[] = {attribute(b, "zero", nothing, ""), attribute(b, "raw", raw, ""),
                            attribute(b, "size", value_int(16), "bytes"), attribute(b, "cold", value_bool(true), ""),
                            attribute(b, "text", value_string(BYTES_LITERAL("16")), "")};
    return builder_attribute_set(b, ids, COUNT_OF(ids));
}

static struct batch *batch_of_everything(void)
{
    struct batch_writer w;
    batch_writer_init(&w);
    const struct key_value said[] = {{BYTES_LITERAL("b"), value_int(1)}, {BYTES_LITERAL("a"), value_int(2)}};
    const struct batch_link link = {.trace_id = {1}, .span_id = {2}};
    builder_resource(w.builder, said, 2, 3, BYTES_LITERAL("https://example.com/resource"));
    builder_resource_entity_ref(w.builder, BYTES_LITERAL("\x0a\x01x"));
    builder_scope(w.builder, BYTES_LITERAL("profiler"), BYTES_LITERAL("1.2"), said, 1, 4,
                  BYTES_LITERAL("https://example.com/scope"));
    sample_writer_add(&w.samples, whole_stack(w.builder), sample_labels(w.builder), builder_link(w.builder, &link));
    sample_writer_add(&w.samples, 0, 0, 0);
    observation_writer_add(&w.observations, NULL, 0, (const uint64_t[]){1700000000000000001u, 1700000001000000000u}, 2);
    observation_writer_add(&w.observations, (const int64_t[]){-7}, 1, (const uint64_t[]){1700000002000000000u}, 1);
    struct profile p = {.sample_type = {builder_string_text(w.builder, "events"), builder_string_text(w.builder, "1")},
                        .duration_nanos = 1,
                        .has_profile_id = true,
                        .profile_id = {0xab},
                        .dropped_attributes_count = 5,
                        .original_payload_format = BYTES_LITERAL("jfr"),
                        .original_payload = BYTES_LITERAL("FLR"),
                        .columns = sample_writer_take(&w.samples),
                        .observations = observation_writer_take(&w.observations)};
    builder_profile(w.builder, &p);
    return batch_writer_finish(&w);
}

static void dump_has_everything(void **state)
{
    (void)state;
    struct buf out;
    struct batch *b = batch_of_everything();
    dump_of(b, &out);
    batch_unref(&b);
    assert_golden("show_of_everything.txt", &out);
    for (uint64_t seed = 0; seed < 5; seed++) {
        b = random_batch(seed, NULL);
        dump_of(b, &out);
        assert_true(buf_ok(&out) && clean_text_is(buf_bytes(&out)));
        buf_fini(&out);
        batch_unref(&b);
    }
}

// The same samples, with a dictionary that is numbered in another way.
static void dump_does_not_depend_on_ids(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct buf one, two;
        struct builder *builder = builder_create(0);
        struct batch *b = random_batch(seed, NULL), *other, *joined;
        dump_of(b, &one);
        other = random_batch(seed + 1000, NULL);
        builder_add_batch(builder, other);
        builder_add_batch(builder, b);
        assert_int_equal(builder_finish(builder, &joined, NULL), ERR_OK);
        builder_destroy(&builder);
        // The joined batch ends with the resources of b; of the mappings before them there are more.
        dump_of(joined, &two);
        const uint8_t *resource = memmem(one.data, one.len, "\nresource", 9);
        resource = one.len >= 8 && memcmp(one.data, "resource", 8) == 0 ? one.data : resource;
        assert_non_null(resource);
        const size_t len = one.len - (size_t)(resource - one.data);
        assert_true(two.len >= len && memcmp(two.data + two.len - len, resource, len) == 0);
        buf_fini(&one);
        buf_fini(&two);
        batch_unref(&b);
        batch_unref(&other);
        batch_unref(&joined);
    }
}

static void dump_says_when_memory_is_out(void **state)
{
    (void)state;
    struct batch *b = random_batch(7, NULL);
    size_t n = 0;
    bool ok = false;
    while (!ok) {
        struct buf out;
        buf_init(&out, MAX_BYTES);
        mem_fail_from(++n);
        show_print(b, &out);
        mem_fail_from(0);
        ok = buf_ok(&out);
        buf_fini(&out);
    }
    assert_true(n > 10);
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_in_their_unit),    cmocka_unit_test(top_is_as_before),
        cmocka_unit_test(diff_is_as_before),           cmocka_unit_test(sums_at_the_ends_are_printed),
        cmocka_unit_test(dump_is_as_before),           cmocka_unit_test(dump_has_everything),
        cmocka_unit_test(dump_does_not_depend_on_ids), cmocka_unit_test(dump_says_when_memory_is_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
