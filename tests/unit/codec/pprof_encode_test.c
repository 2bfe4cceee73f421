// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/validate.h"
#include "tests/support/batch_text.h"
#include "tests/support/random_batch.h"
#include "tests/support/test_files.h"
#include "tests/unit/codec/pprof_fixture.h"

static struct buf encode(const struct batch *b, uint32_t first, uint32_t count, uint64_t want_lost)
{
    struct buf out;
    struct err e = {0};
    uint64_t lost = 0;
    buf_init(&out, (size_t)1 << 30);
    if (pprof_encode(b, scope_of(b), first, count, &out, &lost, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(lost, want_lost);
    return out;
}

static struct buf encode_all(const struct batch *b, uint64_t want_lost)
{
    return encode(b, 0, pprof_group(scope_of(b), 0), want_lost);
}

static void assert_same_batch(const struct batch *a, const struct batch *b)
{
    struct buf left, right;
    buf_init(&left, (size_t)1 << 30);
    buf_init(&right, (size_t)1 << 30);
    batch_text(a, &left);
    batch_text(b, &right);
    assert_true(buf_ok(&left) && buf_ok(&right) && left.len > 0);
    if (!bytes_equal(buf_bytes(&left), buf_bytes(&right)))
        fail_msg("%.*s\n---\n%.*s", BYTES_PRINT(buf_bytes(&left)), BYTES_PRINT(buf_bytes(&right)));
    buf_fini(&left);
    buf_fini(&right);
}

// Decodes, writes, decodes again: the same batch, and writing that gives the same bytes.
static void assert_round_trip(struct bytes file)
{
    struct batch *first = decode_good_with(file, NULL, NULL);
    assert_int_equal(pprof_group(scope_of(first), 0), first->profile_count);
    struct buf written = encode_all(first, 0);
    struct batch *second = decode_good_with(buf_bytes(&written), NULL, NULL);
    if (first->sample_count < 4000) // as text the large ones take minutes
        assert_same_batch(first, second);
    struct buf again = encode_all(second, 0);
    assert_true(bytes_equal(buf_bytes(&written), buf_bytes(&again)));
    buf_fini(&written);
    buf_fini(&again);
    batch_unref(&first);
    batch_unref(&second);
}

// The n-th occurrence of a field of a file.
static bool find_field(struct bytes file, uint32_t number, uint32_t n, struct wire_field *f)
{
    struct wire_reader r;
    wire_reader_init(&r, file);
    while (wire_next(&r, f)) {
        if (f->number == number && n-- == 0)
            return true;
    }
    assert_null(r.error);
    return false;
}

static uint32_t count_fields(struct bytes file, uint32_t number)
{
    uint32_t n = 0;
    struct wire_field f;
    while (find_field(file, number, n, &f))
        n++;
    return n;
}

static void assert_text_field(struct bytes file, uint64_t index, const char *want)
{
    struct wire_field f;
    assert_true(find_field(file, 6, (uint32_t)index, &f));
    assert_true(bytes_equal_text(f.bytes, want));
}

static uint64_t number_field(struct bytes file, uint32_t number)
{
    struct wire_field f = {0};
    return find_field(file, number, 0, &f) ? f.varint : 0;
}

static void assert_type(struct bytes file, uint32_t n, const char *want)
{
    struct wire_field f, type;
    assert_true(find_field(file, 1, n, &f));
    assert_true(find_field(f.bytes, 1, 0, &type));
    assert_text_field(file, type.varint, want);
}

// The value of a label of the n-th sample with this key and text (NULL = a number).
static bool has_label(struct bytes file, uint32_t sample, const char *key, const char *text, uint64_t number)
{
    struct wire_field s, label, part, name;
    assert_true(find_field(file, 2, sample, &s));
    for (uint32_t i = 0; find_field(s.bytes, 3, i, &label); i++) {
        assert_true(find_field(label.bytes, 1, 0, &part) && find_field(file, 6, (uint32_t)part.varint, &name));
        if (!bytes_equal_text(name.bytes, key))
            continue;
        bool is_text = find_field(label.bytes, 2, 0, &part);
        if (text == NULL && !is_text && number_field(label.bytes, 3) == number)
            return true;
        if (text != NULL && is_text && find_field(file, 6, (uint32_t)part.varint, &name) &&
            bytes_equal_text(name.bytes, text))
            return true;
    }
    return false;
}

static void the_small_file_comes_back(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    assert_round_trip(buf_bytes(&p.out));
    struct batch *b = decode_good(&p);
    struct buf out = encode_all(b, 0);
    struct bytes file = buf_bytes(&out);
    assert_type(file, 0, "samples");
    assert_type(file, 1, "cpu");
    assert_int_equal(count_fields(file, 2), 3);
    assert_int_equal(count_fields(file, 3), 2); // the unused mapping too
    assert_int_equal(count_fields(file, 4), 3);
    assert_int_equal(count_fields(file, 5), 3);
    assert_int_equal(number_field(file, 9), 1700000000123456789u);
    assert_int_equal(number_field(file, 10), 10000000000u);
    assert_int_equal(number_field(file, 12), 10000000);
    assert_int_equal(number_field(file, 14), 0);
    assert_text_field(file, 0, "");
    assert_text_field(file, number_field(file, 7), "drop.*");
    assert_text_field(file, number_field(file, 8), "keep.*");
    assert_text_field(file, number_field(file, 15), "https://example.com/doc");
    buf_fini(&out);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void labels_come_back(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    struct buf out = encode_all(b, 0);
    struct bytes file = buf_bytes(&out);
    assert_true(has_label(file, 2, "thread", "main", 0));
    assert_true(has_label(file, 2, "bytes", NULL, 512));
    assert_true(has_label(file, 2, "many", "a", 0));
    assert_true(has_label(file, 2, "many", "b", 0));
    assert_true(has_label(file, 2, "sizes", NULL, 1));
    assert_true(has_label(file, 2, "sizes", NULL, 2));
    assert_true(has_label(file, 2, "trace_id", "0102030405060708090a0b0c0d0e0f10", 0));
    assert_true(has_label(file, 2, "span_id", "a1a2a3a4a5a6a7a8", 0));
    assert_false(has_label(file, 0, "thread", "main", 0));
    buf_fini(&out);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void profile_id_comes_back(void **state)
{
    (void)state;
    static const struct test_label labels[] = {{"profile_id", "00000000000000ff", 0, NULL}, {"zero", NULL, 0, "kb"}};
    struct pprof_bytes p;
    begin(&p);
    add_sample(&p, 1, labels, 2);
    assert_round_trip(buf_bytes(&p.out));
    struct batch *b = decode_good(&p);
    struct buf out = encode_all(b, 0);
    assert_true(has_label(buf_bytes(&out), 0, "profile_id", "00000000000000ff", 0));
    assert_true(has_label(buf_bytes(&out), 0, "zero", NULL, 0));
    assert_false(has_label(buf_bytes(&out), 0, "span_id", "00000000000000ff", 0));
    assert_false(has_label(buf_bytes(&out), 0, "pprof.link.label", "profile_id", 0));
    buf_fini(&out);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void the_order_of_types_comes_back(void **state)
{
    (void)state;
    static const char *const defaults[] = {"a", "b", "c", "d", "unknown", NULL};
    for (size_t i = 0; i < COUNT_OF(defaults); i++) {
        struct pprof_bytes p;
        pprof_bytes_init(&p);
        for (char c = 'a'; c <= 'd'; c++)
            pprof_bytes_type(&p, (const char[]){c, '\0'}, "x");
        if (defaults[i] != NULL)
            pprof_bytes_number(&p, 14, pprof_bytes_text(&p, defaults[i]));
        static const int64_t values[] = {1, 2, 3, 4};
        pprof_bytes_sample(&p, NULL, 0, values, 4, NULL, 0);
        assert_round_trip(buf_bytes(&p.out));
        struct batch *b = decode_good(&p);
        struct buf out = encode_all(b, 0);
        for (uint32_t k = 0; k < 4; k++)
            assert_type(buf_bytes(&out), k, (const char[]){(char)('a' + k), '\0'});
        struct wire_field sample, list;
        assert_true(find_field(buf_bytes(&out), 2, 0, &sample) && find_field(sample.bytes, 2, 0, &list));
        assert_true(bytes_equal_text(list.bytes, "\1\2\3\4"));
        assert_text_field(buf_bytes(&out), number_field(buf_bytes(&out), 14), defaults[i] ? defaults[i] : "");
        buf_fini(&out);
        batch_unref(&b);
        pprof_bytes_fini(&p);
    }
}

static void the_files_own_time_comes_back(void **state)
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_number(&p, 9, 1700000000000000);
    struct decode_options o = {.now_nanos = 1750000000000000000};
    struct batch *b = decode_good_with(buf_bytes(&p.out), &o, NULL);
    assert_int_equal(profile_of(b, 0)->time_nanos, 1700000000000000000);
    struct buf out = encode_all(b, 0);
    assert_int_equal(number_field(buf_bytes(&out), 9), 1700000000000000);
    buf_fini(&out);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

// A batch made by hand: what comes from OTLP.
struct made {
    struct builder *b;
    struct columns *columns;
    struct profile profile;
};

static void made_init(struct made *m)
{
    struct bytes none = {0};
    *m = (struct made){.b = builder_create(0)};
    builder_resource(m->b, NULL, 0, 0, none);
    builder_scope(m->b, none, none, NULL, 0, 0, none);
}

static uint32_t made_stack(struct made *m, uint32_t location_set)
{
    struct batch_function f = {.name = builder_string_text(m->b, "main")};
    struct batch_line line = {.function = builder_function(m->b, &f), .line = 5};
    struct batch_location l = {.address = 1, .attribute_set = location_set};
    uint32_t location = builder_location(m->b, &l, &line, 1);
    return builder_stack(m->b, &location, 1);
}

static void made_columns(struct made *m, uint32_t stack, uint32_t set, uint32_t count)
{
    struct sample_writer w;
    sample_writer_init(&w, m->b);
    for (uint32_t i = 0; i < count; i++)
        sample_writer_add(&w, stack, set, 0);
    m->columns = sample_writer_take(&w);
}

static struct observations *made_values(struct made *m, int64_t first, uint32_t count)
{
    struct observation_writer w;
    observation_writer_init(&w, m->b);
    for (uint32_t i = 0; i < count; i++)
        observation_writer_add_value(&w, first + i);
    return observation_writer_take(&w);
}

static void made_profile(struct made *m, const char *type, struct observations *o)
{
    m->profile.sample_type.type = builder_string_text(m->b, type);
    m->profile.columns = columns_ref(m->columns);
    m->profile.observations = o;
    builder_profile(m->b, &m->profile);
}

static struct batch *made_finish(struct made *m)
{
    struct batch *b;
    struct err e = {0};
    columns_unref(&m->columns);
    assert_int_equal(builder_finish(m->b, &b, &e), ERR_OK);
    builder_destroy(&m->b);
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    return b;
}

static uint32_t made_attribute(struct made *m, const char *key, struct value v)
{
    return builder_attribute(m->b, builder_string_text(m->b, key), 0, &v);
}

static void a_peer_may_wish_otherwise(void **state)
{
    (void)state;
    static const struct pprof_emission how = {.plain_types = true, .time_nanos = 42};
    const uint64_t location = 1;
    const int64_t values[] = {1, 2};
    struct pprof_bytes p;
    struct buf out;
    struct err e;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "wall-cpu", "nano-seconds");
    pprof_bytes_type(&p, "count", "count");
    pprof_bytes_function(&p, 1, "wall-cpu"); // a function may be called so
    pprof_bytes_location(&p, 1, 0, 0, 1);
    pprof_bytes_sample(&p, &location, 1, values, 2, NULL, 0);
    pprof_bytes_number(&p, 9, 1700000000000000);
    pprof_bytes_number(&p, 14, pprof_bytes_text(&p, "wall-cpu"));
    struct decode_options o = {.now_nanos = 1750000000000000000};
    struct batch *b = decode_good_with(buf_bytes(&p.out), &o, NULL);
    buf_init(&out, SIZE_MAX);
    assert_int_equal(pprof_encode_as(b, scope_of(b), 0, 2, &how, &out, NULL, &e), ERR_OK);
    const struct bytes file = buf_bytes(&out);
    struct wire_field type, function;
    assert_type(file, 0, "wall_cpu");
    assert_type(file, 1, "count");
    assert_text_field(file, number_field(file, 14), "wall_cpu");
    assert_true(find_field(file, 1, 0, &type) && find_field(file, 5, 0, &function));
    assert_text_field(file, number_field(type.bytes, 2), "nano-seconds");
    assert_text_field(file, number_field(function.bytes, 2), "wall-cpu");
    assert_int_equal(number_field(file, 9), 42);
    buf_fini(&out);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void groups_end_where_files_differ(void **state)
{
    (void)state;
    struct made m;
    made_init(&m);
    made_columns(&m, made_stack(&m, 0), 0, 2);
    m.profile.time_nanos = 1;
    made_profile(&m, "a", made_values(&m, 1, 2));
    made_profile(&m, "b", made_values(&m, 3, 2)); // same file as a
    m.profile.time_nanos = 2;
    made_profile(&m, "c", made_values(&m, 1, 2));
    m.profile.duration_nanos = 2;
    made_profile(&m, "d", made_values(&m, 1, 2));
    m.profile.period = 2;
    made_profile(&m, "e", made_values(&m, 1, 2));
    m.profile.period_type.unit = builder_string_text(m.b, "ns");
    made_profile(&m, "f", made_values(&m, 1, 2));
    uint32_t attribute = made_attribute(&m, "k", value_int(1));
    m.profile.attribute_set = builder_attribute_set(m.b, &attribute, 1);
    made_profile(&m, "g", made_values(&m, 1, 2));
    columns_unref(&m.columns);
    made_columns(&m, 0, 0, 2);
    made_profile(&m, "h", made_values(&m, 1, 2));
    struct batch *b = made_finish(&m);
    const struct scope *s = scope_of(b);
    assert_int_equal(pprof_group(s, 0), 2);
    for (uint32_t i = 1; i < 8; i++)
        assert_int_equal(pprof_group(s, i), 1);
    assert_int_equal(pprof_group(s, 8), 0);
    struct buf out = encode(b, 0, 2, 0);
    assert_type(buf_bytes(&out), 0, "a");
    assert_type(buf_bytes(&out), 1, "b");
    // OTLP's default is the first profile; pprof would take the last.
    assert_text_field(buf_bytes(&out), number_field(buf_bytes(&out), 14), "a");
    buf_fini(&out);
    batch_unref(&b);
}

static void other_shapes_are_summed(void **state)
{
    (void)state;
    static const int64_t values[] = {INT64_MAX, 5, INT64_MIN, -1, 3, 4};
    static const uint64_t times[] = {1, 2, 3};
    struct made m;
    made_init(&m);
    made_columns(&m, made_stack(&m, 0), 0, 4);
    struct observation_writer w;
    observation_writer_init(&w, m.b);
    observation_writer_add(&w, NULL, 0, times, 3);
    observation_writer_add(&w, values, 2, times, 2);
    observation_writer_add(&w, values + 2, 2, times, 2);
    observation_writer_add(&w, values + 4, 2, times, 2);
    made_profile(&m, "a", observation_writer_take(&w));
    struct batch *b = made_finish(&m);
    assert_int_equal(pprof_group(scope_of(b), 0), 1);
    struct buf out = encode(b, 0, 1, 9);
    static const int64_t want[] = {3, INT64_MAX, INT64_MIN, 7};
    for (uint32_t i = 0; i < 4; i++) {
        struct wire_field sample;
        assert_true(find_field(buf_bytes(&out), 2, i, &sample));
        assert_true((int64_t)number_field(sample.bytes, 2) == want[i]);
    }
    buf_fini(&out);
    batch_unref(&b);
}

static void what_labels_cannot_say_is_counted(void **state)
{
    (void)state;
    struct made m;
    made_init(&m);
    struct value items[] = {value_string(BYTES_LITERAL("one")), {.kind = VALUE_DOUBLE, .number = 1.5}, value_int(2)};
    uint32_t set[] = {made_attribute(&m, "text", value_string(BYTES_LITERAL("t"))),
                      made_attribute(&m, "yes", value_bool(true)),
                      made_attribute(&m, "list", (struct value){.kind = VALUE_ARRAY, .count = 3, .items = items}),
                      made_attribute(&m, "empty text", value_string((struct bytes){0})),
                      made_attribute(&m, "empty list", (struct value){.kind = VALUE_ARRAY}),
                      made_attribute(&m, "double", (struct value){.kind = VALUE_DOUBLE, .number = 2.5}),
                      made_attribute(&m, "bytes", (struct value){.kind = VALUE_BYTES, .bytes = BYTES_LITERAL("b")}),
                      made_attribute(&m, "map", (struct value){.kind = VALUE_KVLIST}),
                      made_attribute(&m, "none", (struct value){.kind = VALUE_EMPTY})};
    uint32_t frame_type = made_attribute(&m, "profile.frame.type", value_string(BYTES_LITERAL("go")));
    uint32_t stack = made_stack(&m, builder_attribute_set(m.b, &frame_type, 1));
    made_columns(&m, stack, builder_attribute_set(m.b, set, COUNT_OF(set)), 2);
    uint32_t own = made_attribute(&m, "mine", value_int(1));
    m.profile.attribute_set = builder_attribute_set(m.b, &own, 1);
    made_profile(&m, "a", made_values(&m, 1, 2));
    struct batch *b = made_finish(&m);
    struct buf out = encode(b, 0, 1, 7 * 2 + 1 + 1); // per sample: 1.5 and six attributes; frame type; mine
    assert_true(has_label(buf_bytes(&out), 1, "text", "t", 0));
    assert_true(has_label(buf_bytes(&out), 1, "yes", "true", 0));
    assert_true(has_label(buf_bytes(&out), 1, "list", "one", 0));
    assert_true(has_label(buf_bytes(&out), 1, "list", NULL, 2));
    buf_fini(&out);
    batch_unref(&b);
}

static void comments_in_both_spellings(void **state)
{
    (void)state;
    struct made m;
    made_init(&m);
    made_columns(&m, 0, 0, 0);
    uint32_t set[] = {made_attribute(&m, "pprof.profile.comment.10", value_string(BYTES_LITERAL("last"))),
                      made_attribute(&m, "pprof.profile.comment.2", value_string(BYTES_LITERAL("second"))),
                      made_attribute(&m, "pprof.profile.comment.0", value_string(BYTES_LITERAL("first"))),
                      made_attribute(&m, "pprof.profile.comment.x", value_string(BYTES_LITERAL("no number")))};
    m.profile.attribute_set = builder_attribute_set(m.b, set, COUNT_OF(set));
    made_profile(&m, "a", made_values(&m, 1, 0));
    struct batch *b = made_finish(&m);
    struct buf out = encode(b, 0, 1, 1);
    struct wire_field f;
    assert_true(find_field(buf_bytes(&out), 13, 0, &f));
    static const char *const want[] = {"first", "second", "last"};
    struct wire_list l = {0};
    struct wire_reader r;
    wire_reader_init(&r, (struct bytes){0});
    assert_true(wire_list_add(&l, &r, &f, false));
    assert_int_equal(l.count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_text_field(buf_bytes(&out), l.items[i], want[i]);
    wire_list_fini(&l);
    buf_fini(&out);
    batch_unref(&b);
}

static void build_ids_by_rank(void **state)
{
    (void)state;
    struct made m;
    made_init(&m);
    made_columns(&m, 0, 0, 0);
    uint32_t set[] = {made_attribute(&m, "process.executable.build_id.htlhash", value_string(BYTES_LITERAL("h"))),
                      made_attribute(&m, "process.executable.build_id.go", value_string(BYTES_LITERAL("g")))};
    struct batch_mapping mapping = {.memory_limit = 1, .attribute_set = builder_attribute_set(m.b, set, 2)};
    builder_mapping(m.b, &mapping);
    made_profile(&m, "a", made_values(&m, 1, 0));
    struct batch *b = made_finish(&m);
    struct buf out = encode(b, 0, 1, 1);
    struct wire_field f;
    assert_true(find_field(buf_bytes(&out), 3, 0, &f));
    assert_text_field(buf_bytes(&out), number_field(f.bytes, 6), "g");
    buf_fini(&out);
    batch_unref(&b);
}

static void assert_group_can_be_read(const struct batch *b, const struct scope *s, uint32_t first, uint32_t count)
{
    struct buf out;
    struct err e = {0};
    uint64_t lost;
    buf_init(&out, (size_t)1 << 30);
    assert_int_equal(pprof_encode(b, s, first, count, &out, &lost, &e), ERR_OK);
    struct batch *again = decode_good_with(buf_bytes(&out), NULL, NULL);
    assert_int_equal(again->profile_count, count);
    assert_int_equal(again->sample_count, (uint64_t)count * s->profiles[first].columns->sample_count);
    batch_unref(&again);
    buf_fini(&out);
}

static void anything_can_be_written(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct batch *b = random_batch(seed, NULL);
        for (uint32_t r = 0; r < b->resource_count; r++) {
            for (uint32_t i = 0; i < b->resources[r]->scope_count; i++) {
                const struct scope *s = b->resources[r]->scopes[i];
                for (uint32_t first = 0, n; (n = pprof_group(s, first)) != 0; first += n)
                    assert_group_can_be_read(b, s, first, n);
            }
        }
        batch_unref(&b);
    }
}

static void a_full_buffer_is_a_limit(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    struct buf whole = encode_all(b, 0);
    for (size_t max = 0; max < whole.len; max++) {
        struct buf out;
        struct err e = {0};
        buf_init(&out, max);
        assert_int_equal(pprof_encode(b, scope_of(b), 0, 2, &out, NULL, &e), ERR_LIMIT);
        assert_int_equal(out.len, 0);
        buf_fini(&out);
    }
    buf_fini(&whole);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    enum err_code code = ERR_MEMORY;
    size_t n = 0;
    while (code != ERR_OK) {
        struct buf out;
        struct err e = {0};
        buf_init(&out, SIZE_MAX / 2);
        mem_fail_from(++n);
        code = pprof_encode(b, scope_of(b), 0, 2, &out, NULL, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && out.len == 0));
        buf_fini(&out);
    }
    assert_true(n > 15);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void visit_corpus_file(void *arg, const char *path, struct bytes content)
{
    size_t *files = arg;
    if (strstr(path, ".json") != NULL)
        return;
    assert_round_trip(content);
    ++*files;
}

static void the_corpus_comes_back(void **state)
{
    (void)state;
    if (test_corpus_dir() == NULL)
        skip();
    size_t files = 0;
    test_each_corpus_file("pprof", visit_corpus_file, &files);
    assert_true(files >= 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_small_file_comes_back),     cmocka_unit_test(labels_come_back),
        cmocka_unit_test(profile_id_comes_back),         cmocka_unit_test(the_order_of_types_comes_back),
        cmocka_unit_test(the_files_own_time_comes_back), cmocka_unit_test(groups_end_where_files_differ),
        cmocka_unit_test(other_shapes_are_summed),       cmocka_unit_test(what_labels_cannot_say_is_counted),
        cmocka_unit_test(comments_in_both_spellings),    cmocka_unit_test(build_ids_by_rank),
        cmocka_unit_test(anything_can_be_written),       cmocka_unit_test(a_full_buffer_is_a_limit),
        cmocka_unit_test(any_allocation_may_fail),       cmocka_unit_test(a_peer_may_wish_otherwise),
        cmocka_unit_test(the_corpus_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
