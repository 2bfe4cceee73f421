// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "codec/compress.h"
#include "tests/support/stack_at.h"
#include "tests/unit/codec/pprof_fixture.h"

static const int64_t now = 1750000000000000000;

static void profiles_of_the_small_file(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct decode_report r;
    struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
    assert_int_equal(r.samples, 3);
    assert_int_equal(r.sample_types, 2);
    assert_int_equal(b->profile_count, 2);
    const struct profile *first = profile_of(b, 0), *second = profile_of(b, 1);
    assert_string(b, first->sample_type.type, "cpu"); // pprof's default is the last type
    assert_string(b, second->sample_type.type, "samples");
    assert_string(b, second->sample_type.unit, "count");
    assert_ptr_equal(first->columns, second->columns);
    assert_int_equal(first->columns->sample_count, 3);
    assert_int_equal(first->observations->values[0], 100);
    assert_int_equal(first->observations->values[2], -5);
    assert_int_equal(second->observations->values[1], 1);
    assert_int_equal(first->time_nanos, 1700000000123456789u);
    assert_int_equal(first->duration_nanos, 10000000000u);
    assert_int_equal(second->period, 10000000);
    assert_string(b, second->period_type.unit, "nanoseconds");
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void tables_of_the_small_file(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    const struct dictionary *d = b->dictionary;
    assert_int_equal(d->mapping_count, 3);
    const struct batch_mapping *m = &d->mappings[1];
    assert_string(b, m->filename, "/bin/app");
    assert_true(m->memory_start == 0x400000 && m->memory_limit == 0x500000 && m->file_offset == 0x1000);
    assert_text_attribute(b, m->attribute_set, "process.executable.build_id.gnu", "0123abcd");
    assert_true(attribute(b, m->attribute_set, "pprof.mapping.has_functions")->value.boolean);
    assert_null(attribute(b, m->attribute_set, "pprof.mapping.has_filenames"));
    assert_non_null(attribute(b, m->attribute_set, "pprof.mapping.has_line_numbers"));
    assert_text_attribute(b, d->mappings[2].attribute_set, "process.executable.build_id.go", "go/build/id");
    uint32_t stack = profile_of(b, 0)->columns->stacks[0];
    assert_int_equal(stack_depth(d, stack), 3);
    const struct batch_location *leaf = stack_at(d, stack, 0);
    assert_true(leaf->address == 0x400030 && leaf->line_count == 1 && leaf->mapping == 1);
    const struct batch_line *line = &d->lines[leaf->line_start];
    assert_true(line->line == 13 && line->column == 3);
    assert_string(b, d->functions[line->function].name, "leaf");
    assert_int_equal(d->functions[line->function].start_line, 7);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void labels_of_the_small_file(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    uint32_t set = set_of(b, 2);
    assert_int_equal(set_of(b, 0), 0);
    assert_text_attribute(b, set, "thread", "main");
    const struct batch_attribute *bytes = attribute(b, set, "bytes");
    assert_true(bytes->value.kind == VALUE_INT && bytes->value.integer == 512);
    assert_string(b, bytes->unit, "bytes");
    const struct value *many = &attribute(b, set, "many")->value;
    assert_true(many->kind == VALUE_ARRAY && many->count == 2 && bytes_equal_text(many->items[1].bytes, "b"));
    const struct value *sizes = &attribute(b, set, "sizes")->value;
    assert_true(sizes->kind == VALUE_ARRAY && sizes->items[1].kind == VALUE_KVLIST);
    assert_true(bytes_equal_text(sizes->items[1].entries[1].value.bytes, "mb"));
    assert_null(attribute(b, set, "trace_id"));
    assert_null(attribute(b, set, "span_id"));
    const struct batch_link *link = &b->dictionary->links[link_of(b, 2)];
    assert_true(link->trace_id[0] == 1 && link->trace_id[15] == 0x10 && link->span_id[0] == 0xa1);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void attributes_of_the_small_file(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct batch *b = decode_good(&p);
    uint32_t set = profile_of(b, 1)->attribute_set;
    assert_text_attribute(b, set, "pprof.profile.drop_frames", "drop.*");
    assert_text_attribute(b, set, "pprof.profile.keep_frames", "keep.*");
    assert_text_attribute(b, set, "pprof.profile.doc_url", "https://example.com/doc");
    const struct value *comment = &attribute(b, set, "pprof.profile.comment")->value;
    assert_true(comment->kind == VALUE_ARRAY && comment->count == 2);
    assert_true(bytes_equal_text(comment->items[1].bytes, "second comment"));
    assert_null(attribute(b, set, "pprof.profile.time_nanos"));
    const struct scope *s = scope_of(b);
    assert_int_equal(s->attribute_count, 1);
    assert_true(bytes_equal_text(s->attributes[0].key, "pprof.scope.sample_type_order"));
    assert_true(s->attributes[0].value.items[0].integer == 1 && s->attributes[0].value.items[1].integer == 0);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void the_default_type_comes_first(void **state)
{
    (void)state;
    static const struct {
        const char *name, *first;
        uint32_t scope_attributes;
    } cases[] = {{"b", "b", 2}, {"a", "a", 1}, {"c", "c", 2}, {"unknown", "c", 2}, {NULL, "c", 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pprof_bytes p;
        pprof_bytes_init(&p);
        pprof_bytes_type(&p, "a", "x");
        pprof_bytes_type(&p, "b", "x");
        pprof_bytes_type(&p, "c", "x");
        if (cases[i].name != NULL) // the same text under another number of the string table
            pprof_bytes_number(&p, 14, pprof_bytes_text(&p, cases[i].name));
        struct batch *b = decode_good(&p);
        assert_string(b, profile_of(b, 0)->sample_type.type, cases[i].first);
        assert_int_equal(scope_of(b)->attribute_count, cases[i].scope_attributes);
        batch_unref(&b);
        pprof_bytes_fini(&p);
    }
}

static void resource_and_payload(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    struct key_value name = {BYTES_LITERAL("service.name"), value_string(BYTES_LITERAL("shop"))};
    struct decode_options o = {
        .resource_attributes = &name, .resource_attribute_count = 1, .keep_original_payload = true};
    struct batch *b = decode_good_with(buf_bytes(&p.out), &o, NULL);
    assert_int_equal(b->resources[0]->attribute_count, 1);
    assert_true(bytes_equal_text(profile_of(b, 0)->original_payload_format, "pprof"));
    assert_true(bytes_equal(profile_of(b, 0)->original_payload, buf_bytes(&p.out)));
    assert_int_equal(profile_of(b, 1)->original_payload.len, 0);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void compressed_input(void **state)
{
    (void)state;
    static const enum compression kinds[] = {COMPRESSION_GZIP, COMPRESSION_ZSTD};
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_small(&p);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct compressor *c = compressor_create(kinds[i], 0);
        struct buf small;
        struct err e;
        struct decode_report r;
        buf_init(&small, 1 << 20);
        assert_int_equal(compressor_run(c, buf_bytes(&p.out), &small, &e), ERR_OK);
        struct batch *b = decode_good_with(buf_bytes(&small), NULL, &r);
        assert_int_equal(b->sample_count, 6);
        assert_int_equal(r.gzip, kinds[i] == COMPRESSION_GZIP);
        assert_int_equal(r.zstd, kinds[i] == COMPRESSION_ZSTD);
        batch_unref(&b);
        struct decode_limits limits = decode_default_limits;
        limits.max_inflated_bytes = p.out.len - 1;
        struct decode_options o = {.limits = &limits};
        refuse_with(buf_bytes(&small), &o, ERR_LIMIT, "max_inflated_size");
        refuse_with(buf_bytes(&p.out), &o, ERR_LIMIT, "max_inflated_size");
        refuse_with((struct bytes){small.data, small.len - 1}, NULL, ERR_INVALID, "cut off");
        buf_fini(&small);
        compressor_destroy(&c);
    }
    pprof_bytes_fini(&p);
}

static void empty_and_sample_less_input(void **state) // A1, A2
{
    (void)state;
    refuse_with((struct bytes){0}, NULL, ERR_INVALID, "empty input");
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "contentions", "count");
    pprof_bytes_mapping(&p, 1, "/bin/app", "id");
    struct batch *b = decode_good(&p);
    assert_int_equal(b->profile_count, 1);
    assert_int_equal(b->sample_count, 0);
    assert_string(b, profile_of(b, 0)->sample_type.type, "contentions");
    assert_int_equal(b->dictionary->mapping_count, 2);
    batch_unref(&b);
    pprof_bytes_fini(&p);
    pprof_bytes_init(&p);
    pprof_bytes_number(&p, 10, 5);
    b = decode_good(&p);
    assert_int_equal(b->profile_count, 0);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void string_zero_is_always_empty(void **state) // A3
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    wire_put_bytes(&p.out, 6, BYTES_LITERAL("not empty"));
    wire_put_bytes(&p.out, 6, BYTES_LITERAL("cpu"));
    wire_put_bytes(&p.out, 6, (struct bytes){0});
    wire_put_bytes(&p.out, 6, (struct bytes){0});
    pprof_bytes_message(&p, 1, (const uint64_t[]){1, 0}, 2);
    pprof_bytes_message(&p, 11, (const uint64_t[]){3, 2}, 2);
    struct batch *b = decode_good(&p);
    assert_string(b, profile_of(b, 0)->sample_type.type, "cpu");
    assert_int_equal(profile_of(b, 0)->sample_type.unit, 0);
    assert_int_equal(profile_of(b, 0)->period_type.type, 0);
    assert_int_equal(profile_of(b, 0)->period_type.unit, 0);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void ids_are_keys(void **state) // A5
{
    (void)state;
    static const uint64_t ids[][3] = {{1, 2, 3}, {3, 1, 2}, {1000, 7, 42}, {UINT64_MAX, 1, (uint64_t)1 << 40}};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct pprof_bytes p;
        pprof_bytes_init(&p);
        pprof_bytes_type(&p, "cpu", "ns");
        for (uint64_t k = 0; k < 3; k++) {
            char name[2] = {(char)('a' + k), '\0'};
            pprof_bytes_function(&p, ids[i][k], name);
            pprof_bytes_mapping(&p, ids[i][k], name, NULL);
            pprof_bytes_location(&p, ids[i][k], ids[i][k], k, ids[i][k]);
        }
        const int64_t value = 1;
        pprof_bytes_sample(&p, ids[i], 3, &value, 1, NULL, 0);
        pprof_bytes_sample(&p, &ids[i][2], 1, &value, 1, NULL, 0);
        struct batch *b = decode_good(&p);
        const struct dictionary *d = b->dictionary;
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t stack = profile_of(b, 0)->columns->stacks[0];
            const struct batch_location *l = stack_at(d, stack, k);
            char name[2] = {(char)('a' + k), '\0'};
            assert_string(b, d->functions[d->lines[l->line_start].function].name, name);
            assert_string(b, d->mappings[l->mapping].filename, name);
        }
        batch_unref(&b);
        uint64_t missing = 99;
        pprof_bytes_sample(&p, &missing, 1, &value, 1, NULL, 0);
        refuse(&p, "sample 2: location id 99 is not in the profile");
    }
}

static void mappings_that_are_not_there(void **state) // A6, A7
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_location(&p, 2, 33, 1, 0);
    add_sample(&p, 2, NULL, 0);
    struct decode_report r;
    struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
    assert_int_equal(r.unknown_mappings, 1);
    assert_int_equal(b->dictionary->mapping_count, 1);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void put_functions_without_ids(struct pprof_bytes *p, uint64_t line_ids)
{
    pprof_bytes_init(p);
    pprof_bytes_type(p, "cpu", "ns");
    pprof_bytes_function(p, 0, "first");
    pprof_bytes_function(p, 0, "second");
    for (uint64_t id = 1; id <= 2; id++) {
        size_t start = wire_begin(&p->out, 4);
        wire_put_uint(&p->out, 1, id);
        size_t line = wire_begin(&p->out, 4);
        wire_put_uint(&p->out, 1, line_ids == 0 ? 0 : line_ids + id - 1);
        wire_end(&p->out, line);
        wire_end(&p->out, start);
    }
    add_sample(p, 2, NULL, 0);
}

static void functions_without_ids_are_paired(void **state) // A8
{
    (void)state;
    for (uint64_t line_ids = 0; line_ids <= 1; line_ids++) {
        struct pprof_bytes p;
        struct decode_report r;
        put_functions_without_ids(&p, line_ids);
        struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
        assert_int_equal(r.repaired_functions, 2);
        const struct dictionary *d = b->dictionary;
        uint32_t stack = profile_of(b, 0)->columns->stacks[0];
        const struct batch_location *l = stack_at(d, stack, 0);
        assert_string(b, d->functions[d->lines[l->line_start].function].name, "second");
        batch_unref(&b);
        pprof_bytes_location(&p, 3, 0, 0, 1); // a third line: no pairing any more
        refuse(&p, "cannot be paired");
    }
    struct pprof_bytes p;
    put_functions_without_ids(&p, 5);
    refuse(&p, "function id 5 is not in the profile");
}

static void locations_may_be_bare_and_stacks_empty(void **state) // A9, A11
{
    (void)state;
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_location(&p, 2, 0, 0, 0);
    add_sample(&p, 2, NULL, 0);
    const int64_t value = 9;
    pprof_bytes_sample(&p, NULL, 0, &value, 1, NULL, 0);
    struct batch *b = decode_good(&p);
    const struct profile *f = profile_of(b, 0);
    assert_int_equal(f->columns->sample_count, 2);
    assert_int_equal(stack_depth(b->dictionary, f->columns->stacks[0]), 1);
    assert_int_equal(f->columns->stacks[1], 0);
    assert_int_equal(f->observations->values[1], 9);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void equal_names_in_other_places_stay_apart(void **state) // A35
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    uint64_t run = pprof_bytes_text(&p, "run");
    pprof_bytes_message(&p, 5, (const uint64_t[]){1, run, run, 0, 10}, 5);
    pprof_bytes_message(&p, 5, (const uint64_t[]){2, run, run, 0, 20}, 5);
    struct batch *b = decode_good(&p);
    assert_int_equal(b->dictionary->function_count, 3);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void packed_unpacked_and_mixed_lists(void **state)
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "a", "x");
    pprof_bytes_type(&p, "b", "x");
    for (uint64_t id = 1; id <= 300; id++)
        pprof_bytes_location(&p, id, 0, id, 0);
    static const char mixed[] = "\x08\x01"             // location 1
                                "\x0a\x03\xac\x02\x02" // 300, 2
                                "\x0a\x00"
                                "\x8a\x00\x01\x05"                                  // 5, with a longer tag
                                "\x10\x07"                                          // value 7
                                "\x12\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"; // -1
    wire_put_bytes(&p.out, 2, BYTES_LITERAL(mixed));
    struct batch *b = decode_good(&p);
    static const uint64_t want[] = {1, 300, 2, 5};
    const struct dictionary *d = b->dictionary;
    uint32_t stack = profile_of(b, 0)->columns->stacks[0];
    assert_int_equal(stack_depth(d, stack), COUNT_OF(want));
    for (uint32_t i = 0; i < COUNT_OF(want); i++)
        assert_int_equal(stack_at(d, stack, i)->address, want[i]);
    assert_int_equal(profile_of(b, 0)->observations->values[0], -1);
    assert_int_equal(profile_of(b, 1)->observations->values[0], 7);
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static void broken_utf8_is_replaced(void **state) // A28
{
    (void)state;
    struct pprof_bytes p;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "ns");
    pprof_bytes_function(&p, 1, "bad\xff\xfe");
    struct test_label label = {"key", "text\x80", 0, NULL};
    const int64_t value = 1;
    pprof_bytes_sample(&p, NULL, 0, &value, 1, &label, 1);
    struct decode_report r;
    struct batch *b = decode_good_with(buf_bytes(&p.out), NULL, &r);
    assert_true(r.repaired_utf8 >= 2);
    assert_string(b, b->dictionary->functions[1].name, "bad\xef\xbf\xbd\xef\xbf\xbd");
    assert_text_attribute(b, set_of(b, 0), "key", "text\xef\xbf\xbd");
    batch_unref(&b);
    pprof_bytes_fini(&p);
}

static struct batch *with_time(int64_t time, const struct decode_options *o, struct decode_report *r)
{
    struct pprof_bytes p;
    begin(&p);
    pprof_bytes_number(&p, 9, (uint64_t)time);
    struct batch *b = decode_good_with(buf_bytes(&p.out), o, r);
    pprof_bytes_fini(&p);
    return b;
}

static void times_are_repaired(void **state) // A22, A23
{
    (void)state;
    static const struct {
        int64_t said, fallback, now, want;
        uint64_t repaired;
        bool force;
    } cases[] = {
        {1700000000000000000, 7, now, 1700000000000000000, 0, false},
        {1700000000000000, 7, now, 1700000000000000000, 1, false},
        {1700000000000, 7, now, 1700000000000000000, 1, false},
        {1700000000, 7, now, 1700000000000000000, 1, false},
        {1700000000000000, 0, 0, 1700000000000000, 0, false}, // nothing to judge by
        {1700000000000000, 7, 0, 7, 0, false},
        {15000000000, 7, now, 7, 0, false},
        {15000000000, 0, now, 15000000000, 0, false},
        {0, 0, now, 0, 0, false},
        {0, 7, now, 7, 0, false},
        {-5, 7, now, 7, 0, false},
        {-5, 0, now, -5, 0, false},
        {1760000000000000, 7, now, 7, 0, false}, // would lie in the future
        {1700000000000000000, 7, now, 7, 0, true},
        {INT64_MAX, 7, INT64_MAX, INT64_MAX, 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct decode_options o = {
            .fallback_time_nanos = cases[i].fallback, .now_nanos = cases[i].now, .force_fallback_time = cases[i].force};
        struct decode_report r;
        struct batch *b = with_time(cases[i].said, &o, &r);
        const struct profile *f = profile_of(b, 0);
        assert_true(f->time_nanos == (uint64_t)cases[i].want);
        assert_int_equal(r.repaired_time, cases[i].repaired);
        assert_int_equal(r.guessed_time, !cases[i].force && cases[i].want == 7);
        const struct batch_attribute *said = attribute(b, f->attribute_set, "pprof.profile.time_nanos");
        assert_int_equal(said != NULL, cases[i].said != cases[i].want);
        if (said != NULL)
            assert_true(said->value.integer == cases[i].said);
        batch_unref(&b);
    }
}

static struct batch *with_labels(const struct test_label *labels, uint32_t count)
{
    struct pprof_bytes p;
    begin(&p);
    add_sample(&p, 1, labels, count);
    struct batch *b = decode_good(&p);
    pprof_bytes_fini(&p);
    return b;
}

static void profile_ids_are_span_ids(void **state)
{
    (void)state;
    static const struct test_label labels[] = {
        {"profile_id", "00000000000000ff", 0, NULL}, {"span_id", "00000000000000aa", 0, NULL}, {"x", "y", 0, NULL}};
    struct batch *b = with_labels(labels, 1);
    assert_int_equal(b->dictionary->links[link_of(b, 0)].span_id[7], 0xff);
    assert_text_attribute(b, set_of(b, 0), "pprof.link.label", "profile_id");
    assert_null(attribute(b, set_of(b, 0), "profile_id"));
    batch_unref(&b);
    b = with_labels(labels, 3); // a real span id goes first
    assert_int_equal(b->dictionary->links[link_of(b, 0)].span_id[7], 0xaa);
    assert_text_attribute(b, set_of(b, 0), "profile_id", "00000000000000ff");
    assert_text_attribute(b, set_of(b, 0), "x", "y");
    assert_null(attribute(b, set_of(b, 0), "pprof.link.label"));
    batch_unref(&b);
}

static void ids_that_are_none_stay_labels(void **state)
{
    (void)state;
    static const struct test_label labels[] = {{"span_id", "0000000000000000", 0, NULL},
                                               {"span_id", "00000000000000AA", 0, NULL},
                                               {"span_id", "aa", 0, NULL},
                                               {"trace_id", "00000000000000ff", 0, NULL},
                                               {"trace_id", NULL, 5, NULL},
                                               {"Span_id", "00000000000000aa", 0, NULL}};
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        struct batch *b = with_labels(&labels[i], 1);
        assert_int_equal(link_of(b, 0), 0);
        assert_non_null(attribute(b, set_of(b, 0), labels[i].key));
        batch_unref(&b);
    }
    static const struct test_label twice[] = {{"span_id", "00000000000000aa", 0, NULL},
                                              {"span_id", "00000000000000bb", 0, NULL}};
    struct batch *b = with_labels(twice, 2);
    assert_int_equal(link_of(b, 0), 0);
    assert_int_equal(attribute(b, set_of(b, 0), "span_id")->value.count, 2);
    batch_unref(&b);
}

static void labels_of_all_shapes(void **state)
{
    (void)state;
    static const struct test_label labels[] = {{"zero", NULL, 0, NULL}, {"mixed", "text", 0, NULL},
                                               {"n", NULL, -1, "kb"},   {"mixed", NULL, 4, "mb"},
                                               {"n", NULL, 2, "kb"},    {"unit", NULL, 3, "s"}};
    struct batch *b = with_labels(labels, COUNT_OF(labels));
    uint32_t set = set_of(b, 0);
    assert_int_equal(b->dictionary->attribute_sets[set].count, 4);
    const struct value *zero = &attribute(b, set, "zero")->value;
    assert_true(zero->kind == VALUE_INT && zero->integer == 0);
    const struct batch_attribute *mixed = attribute(b, set, "mixed"), *n = attribute(b, set, "n");
    assert_true(mixed->value.items[0].kind == VALUE_STRING && mixed->value.items[1].integer == 4);
    assert_string(b, mixed->unit, "mb");
    assert_true(n->value.items[0].integer == -1 && n->value.items[1].integer == 2);
    assert_string(b, n->unit, "kb");
    batch_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_of_the_small_file),
        cmocka_unit_test(tables_of_the_small_file),
        cmocka_unit_test(labels_of_the_small_file),
        cmocka_unit_test(attributes_of_the_small_file),
        cmocka_unit_test(the_default_type_comes_first),
        cmocka_unit_test(resource_and_payload),
        cmocka_unit_test(compressed_input),
        cmocka_unit_test(empty_and_sample_less_input),
        cmocka_unit_test(string_zero_is_always_empty),
        cmocka_unit_test(ids_are_keys),
        cmocka_unit_test(mappings_that_are_not_there),
        cmocka_unit_test(functions_without_ids_are_paired),
        cmocka_unit_test(locations_may_be_bare_and_stacks_empty),
        cmocka_unit_test(equal_names_in_other_places_stay_apart),
        cmocka_unit_test(packed_unpacked_and_mixed_lists),
        cmocka_unit_test(broken_utf8_is_replaced),
        cmocka_unit_test(times_are_repaired),
        cmocka_unit_test(profile_ids_are_span_ids),
        cmocka_unit_test(ids_that_are_none_stay_labels),
        cmocka_unit_test(labels_of_all_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
