// SPDX-License-Identifier: Apache-2.0
// The table of formats: what each is called, and that it is recognised.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "codec/compress.h"
#include "codec/formats.h"
#include "codec/pprof.h"
#include "codec/wire.h"

#include <stdio.h>
#include <string.h>

static void every_row_is_found_by_name_and_extension(void **state)
{
    (void)state;
    char path[64];
    for (size_t i = 0; formats[i] != NULL; i++) {
        const struct format *f = formats[i];
        assert_ptr_equal(format_find(f->name), f);
        assert_true(f->decode != NULL || f->encode != NULL);
        assert_non_null(f->help);
        for (const char *const *x = f->extensions; *x != NULL; x++) {
            static const char *const ends[] = {"", ".gz", ".zst", ".GZ"};
            for (size_t k = 0; k < COUNT_OF(ends); k++) {
                snprintf(path, sizeof path, "a/b%s%s", *x, ends[k]);
                assert_ptr_equal(format_of_path(path), f);
            }
        }
    }
    assert_ptr_equal(format_find("PPROF"), &pprof_format);
    assert_null(format_find("pprof2"));
    assert_null(format_of_path("a.txt"));
    assert_null(format_of_path(".pb")); // a hidden file
}

// A batch that every format can hold.
static struct batch *small_batch(void)
{
    static const char text[] = "main;a 1\nmain;b 2\n";
    const struct format_choice choice = {.format = &folded_format};
    struct batch *b;
    struct err e = {0};
    assert_int_equal(format_decode(bytes_from_text(text), &choice, NULL, &b, NULL, &e), ERR_OK);
    return b;
}

static void what_is_written_is_recognised(void **state)
{
    (void)state;
    struct batch *b = small_batch();
    unsigned written = 0;
    for (size_t i = 0; formats[i] != NULL; i++) {
        if (formats[i]->encode == NULL)
            continue;
        const struct encode_options options = {.sample_type = {NULL, 0}};
        const struct format_choice choice = {.path = "misleading.perf"};
        struct encode_report wrote = {.lost = 0};
        struct decode_report report;
        struct buf out, packed;
        struct batch *back;
        struct err e = {0};
        struct compressor *gzip = compressor_create(COMPRESSION_GZIP, 0);
        buf_init(&out, 1 << 20);
        buf_init(&packed, 1 << 20);
        assert_int_equal(formats[i]->encode(b, &options, &out, &wrote, &e), ERR_OK);
        assert_int_equal(compressor_run(gzip, buf_bytes(&out), &packed, &e), ERR_OK);
        if (formats[i]->recognise != NULL) {
            assert_int_equal(format_decode(buf_bytes(&packed), &choice, NULL, &back, &report, &e), ERR_OK);
            assert_string_equal(report.format, formats[i]->name);
            assert_true(report.gzip);
            assert_int_equal(back->sample_count, 2);
            batch_unref(&back);
        }
        compressor_destroy(&gzip);
        buf_fini(&out);
        buf_fini(&packed);
        written++;
    }
    assert_int_equal(written, 4); // otlp_proto, otlp_json, pprof, folded
    batch_unref(&b);
}

// pdata writes the dictionary first. Its length needs two bytes here, the zero mapping follows.
static void otlp_with_the_dictionary_first_is_otlp(void **state)
{
    (void)state;
    struct batch *b = small_batch(), *back;
    const struct encode_options options = {.sample_type = {NULL, 0}};
    struct encode_report wrote = {.lost = 0};
    struct decode_report report;
    struct buf out, turned;
    struct err e = {0};
    buf_init(&out, 1 << 20);
    buf_init(&turned, 1 << 20);
    assert_int_equal(otlp_proto_format.encode(b, &options, &out, &wrote, &e), ERR_OK);
    for (uint32_t wanted = 2; wanted != 0; wanted--) {
        struct wire_reader r;
        struct wire_field f;
        wire_reader_init(&r, buf_bytes(&out));
        while (wire_next(&r, &f))
            if (f.number == wanted)
                wire_put_bytes(&turned, f.number, f.bytes);
    }
    assert_int_equal(turned.data[0], 2 << 3 | WIRE_LEN);
    const struct format_choice choice = {.path = "request.pb"};
    assert_int_equal(format_decode(buf_bytes(&turned), &choice, NULL, &back, &report, &e), ERR_OK);
    assert_string_equal(report.format, "otlp_proto");
    assert_int_equal(back->sample_count, 2);
    // The Collector's own writer goes backwards: the last table first, or, without a dictionary, the schema URL.
    static const uint8_t backwards[][6] = {{2 << 3 | WIRE_LEN, 4, 7 << 3 | WIRE_LEN, 0, 6 << 3 | WIRE_LEN, 0},
                                           {1 << 3 | WIRE_LEN, 4, 3 << 3 | WIRE_LEN, 1, 'u', 0}};
    for (size_t i = 0; i < COUNT_OF(backwards); i++)
        assert_true(pprof_is_otlp((struct bytes){backwards[i], sizeof backwards[i]}));
    // A sample that begins with a packed list of locations, of values or with a label stays pprof's.
    for (uint8_t field = 1; field <= 3; field++) {
        const uint8_t sample_first[] = {2 << 3 | WIRE_LEN, 3, (uint8_t)(field << 3 | WIRE_LEN), 1, 1};
        assert_false(pprof_is_otlp((struct bytes){sample_first, sizeof sample_first}));
    }
    batch_unref(&back);
    batch_unref(&b);
    buf_fini(&out);
    buf_fini(&turned);
}

static void times_are_set_where_they_are_missing_or_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint64_t said;
        bool force;
        uint64_t expected;
    } cases[] = {{0, false, 77}, {5, false, 5}, {5, true, 77}, {0, true, 77}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[300];
        int len =
            snprintf(text, sizeof text,
                     "{\"resourceProfiles\":[{\"scopeProfiles\":[{\"profiles\":[{\"timeUnixNano\":\"%llu\"}]}]}]}",
                     (unsigned long long)cases[i].said);
        const struct decode_options options = {.fallback_time_nanos = 77, .force_fallback_time = cases[i].force};
        const struct format_choice choice = {.path = NULL};
        struct batch *b;
        struct err e = {0};
        const struct bytes data = {(const uint8_t *)text, (size_t)len};
        assert_int_equal(format_decode(data, &choice, &options, &b, NULL, &e), ERR_OK);
        assert_int_equal(b->resources[0]->scopes[0]->profiles[0].time_nanos, cases[i].expected);
        batch_unref(&b);
    }
}

static void refused(struct bytes data, const struct format_choice *choice, enum err_code code, const char *text)
{
    struct batch *b;
    struct err e = {0};
    assert_int_equal(format_decode(data, choice, NULL, &b, NULL, &e), code);
    assert_null(b);
    assert_string_equal(e.text, text);
}

static void what_is_not_taken_is_named(void **state)
{
    (void)state;
    static const struct format *const only_pprof[] = {&pprof_format, NULL};
    const struct format_choice any = {.path = NULL}, pprofs = {.allowed = only_pprof};
    refused(BYTES_LITERAL("a;b 1\n"), &pprofs, ERR_UNSUPPORTED,
            "it looks like folded (folded stacks: frame;frame count), which is not taken here");
    refused(BYTES_LITERAL("FLR\0\0\1"), &any, ERR_UNSUPPORTED,
            "not a profile in any known format: it looks like a JFR recording");
    refused(BYTES_LITERAL(""), &any, ERR_INVALID, "empty input");
    refused(BYTES_LITERAL("\x1f\x8b\x08"), &any, ERR_INVALID, "gzip data is damaged or cut off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_found_by_name_and_extension),
        cmocka_unit_test(what_is_written_is_recognised),
        cmocka_unit_test(otlp_with_the_dictionary_first_is_otlp),
        cmocka_unit_test(times_are_set_where_they_are_missing_or_asked_for),
        cmocka_unit_test(what_is_not_taken_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
