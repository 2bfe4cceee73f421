// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "codec/pyroscope_query.h"

#include <stdio.h>
#include <stdlib.h>

#define NOW 1795974816000000000LL // 2026-11-29
#define SECOND NANOS_PER_SECOND

// "app|key=value|..."
static void expect_series(const struct pyroscope_series *s, const char *want)
{
    struct buf text;
    buf_init(&text, SIZE_MAX);
    buf_add(&text, s->app_name.data, s->app_name.len);
    for (size_t i = 0; i < s->labels.count; i++) {
        buf_add_byte(&text, '|');
        buf_add(&text, s->labels.items[i].name.data, s->labels.items[i].name.len);
        buf_add_byte(&text, '=');
        buf_add(&text, s->labels.items[i].value.data, s->labels.items[i].value.len);
    }
    buf_add_byte(&text, '\0');
    assert_string_equal((const char *)text.data, want);
    buf_fini(&text);
}

static void good_query(struct pyroscope_query *q, const char *query)
{
    struct err e = {0};
    const enum err_code code = pyroscope_query_parse(bytes_from_text(query), NOW, q, &e);
    if (code != ERR_OK)
        fail_msg("%s", e.text);
}

static void good_name(const char *query, const char *want)
{
    struct pyroscope_query q;
    good_query(&q, query);
    expect_series(&q.series, want);
    pyroscope_query_fini(&q);
}

static void bad_name(const char *query, const char *why)
{
    struct pyroscope_query q;
    struct err e = {0};
    assert_int_equal(pyroscope_query_parse(bytes_from_text(query), NOW, &q, &e), ERR_INVALID);
    assert_string_equal(e.text, why);
    pyroscope_query_fini(&q);
}

static void names_have_labels(void **state)
{
    (void)state;
    good_name("name=app", "app");
    good_name("name=app{}", "app");
    good_name(
        "from=1&name=demo.go.service%7B__session_id__%3D5dc5%2Cotel.scope.name%3Dcom.grafana.pyroscope%2Fgo%7D&x=y",
        "demo.go.service|__session_id__=5dc5|otel.scope.name=com.grafana.pyroscope/go");
    good_name("name=node%2Ftenant%7Bzone-1%3Dab%2Cn%3D1.5%2Cnote%3Dtwo+words%2Cuni%3Dgr%C3%BCn%2Cempty%3D%2Cservice_"
              "name%3Do%7D",
              "node/tenant|zone-1=ab|n=1.5|note=two words|uni=gr\xc3\xbcn|service_name=o");
    good_name("name=a+-+b%7B+local+root/span-id+=+1+,%7D", "a - b|local root/span-id=1");
    good_name("name=gr%C3%BCn%7Bgr%C3%B6%C3%9Fe=1,,k=v=w%7B%7Dignored=1", "gr\xc3\xbcn|gr\xc3\xb6\xc3\x9f"
                                                                          "e=1|k=v=w{");
    good_name("name=%7Bservice_name=s,__name__=process_cpu%7D", "|service_name=s|__name__=process_cpu");
    good_name("name=a%7Bk=1,k=2,k=%7D", "a|k=1|k=2");
    good_name("name=first&name=second", "first");
}

static void escapes_that_are_none_stand_for_themselves(void **state)
{
    (void)state;
    good_name("name=100%", "100%");
    good_name("name=%4", "%4");
    good_name("name=%zz%4a%4A%g1%1g", "%zzJJ%g1%1g");
    good_name("name=%25%32%35", "%25");
}

static void names_that_cannot_be_read_name_the_place(void **state)
{
    (void)state;
    bad_name("", "name: it is missing: send name=APP or name=APP{label=value}");
    bad_name("from=1", "name: it is missing: send name=APP or name=APP{label=value}");
    bad_name("name", "name: it is missing: send name=APP or name=APP{label=value}");
    bad_name("Name=a", "name: it is missing: send name=APP or name=APP{label=value}");
    bad_name("name=+%7Ba=b%7D", "name: no application at character 2");
    bad_name("name=%7Bservice_name=%7D", "name: no application at character 1");
    bad_name("name=demo.gr%C3%BCn.x%7Ba=b", "name: no '}' for the '{' at character 12");
    bad_name("name=app%7Bfoo,bar=1%7D", "name: no '=' in the label at character 5");
    bad_name("name=app%7Ba=1,+=2%7D", "name: no label name before the '=' at character 10");
    bad_name("name=a%00b", "name: the control character 0x00 at character 2");
    bad_name("name=app%7B%C3%BC=1,a%0Ab=1%7D", "name: the control character 0x0a at character 10");
}

static void values_keep_what_they_hold(void **state)
{
    (void)state;
    struct pyroscope_query q;
    good_query(&q, "name=a%7Bk=x%00%0a%ff%7D");
    assert_int_equal(q.series.labels.items[0].value.len, 4);
    assert_memory_equal(q.series.labels.items[0].value.data, "x\0\n\xff", 4);
    pyroscope_query_fini(&q);
}

static void labels_are_limited(void **state)
{
    (void)state;
    struct buf text;
    struct pyroscope_query q;
    buf_init(&text, SIZE_MAX);
    buf_add_text(&text, "name=a{");
    for (int i = 0; i < PYROSCOPE_MAX_LABELS; i++)
        buf_add_format(&text, "k%d=1,", i);
    const size_t fits = text.len;
    buf_add_text(&text, "}");
    buf_add_byte(&text, '\0');
    good_query(&q, (const char *)text.data);
    assert_int_equal(q.series.labels.count, PYROSCOPE_MAX_LABELS);
    pyroscope_query_fini(&q);
    text.len = fits;
    buf_add_text(&text, "z=1}");
    buf_add_byte(&text, '\0');
    bad_name((const char *)text.data, "name: at least 257 labels, allowed are 256");
    buf_clear(&text);
    buf_add_text(&text, "name=a{");
    for (int i = 0; i <= PYROSCOPE_MAX_LABEL_NAME_BYTES; i++)
        buf_add_byte(&text, 'k');
    buf_add_text(&text, "=1}");
    buf_add_byte(&text, '\0');
    bad_name((const char *)text.data, "name: the label name at character 3 has 1025 bytes, allowed are 1024");
    buf_clear(&text);
    buf_add_text(&text, "name=a{k=");
    for (int i = 0; i <= PYROSCOPE_MAX_LABEL_VALUE_BYTES; i++)
        buf_add_byte(&text, 'v');
    buf_add_text(&text, "}");
    buf_add_byte(&text, '\0');
    bad_name((const char *)text.data, "name: the value of the label at character 3 has 65537 bytes, allowed are 65536");
    buf_fini(&text);
}

static void times_are_told_by_their_digits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t want;
        bool repaired;
    } cases[] = {
        {"", 0, false},
        {"1795974801", 1795974801 * SECOND, false},
        {"1795974801540", 1795974801540000000, false},
        {"1795974801540635", 1795974801540635000, false},
        {"1795974801540635106", 1795974801540635106, false},
        {" 1_795_974_801 ", 1795974801 * SECOND, false},
        {"946684800", 946684800 * SECOND, false}, // 2000
        {"20240102", 1704153600 * SECOND, false},
        {"20240229", 1709164800 * SECOND, false},
        {"20000301", 951868800 * SECOND, false},
        {"20241302", 0, true}, // no date; as seconds it is in 1970
        {"20240132", 0, true},
        {"0", 0, true},
        {"1", 0, true},
        {"15000000000", 0, true},                         // 15 s after the epoch, in ns
        {"946684800000", 946684800 * SECOND, true},       // 12 digits, ms
        {"946684800000000000", 946684800 * SECOND, true}, // 18 digits, ns
        {"4102444800", 0, true},                          // 2100
        {"9999999999999999999", 0, true},
        {"99999999999999999999999999999999999999999999999999999999999999999", 0, true},
        {"now", NOW, false},
        {"now-1h", NOW - 3600 * SECOND, false},
        {"now - 1h", NOW - 3600 * SECOND, false},
        {"-1h30m", NOW - 5400 * SECOND, false},
        {"now-1d+2h-3min4s", NOW - (86400 - 7200 + 180 + 4) * SECOND, false},
        {"now-1w", NOW - 7 * 86400 * SECOND, false},
        {"now-2M", NOW - 60LL * 86400 * SECOND, false},
        {"now-1y", NOW - 365LL * 86400 * SECOND, false},
        {"now-5parsec", NOW, false}, // a unit that is not known is none
        {"now-100y", 0, true},
        {"now+2d", 0, true},
        {"now-", 0, true},
        {"now-1h!", 0, true},
        {"nowish", 0, true},
        {"yesterday", 0, true},
        {"now-99999999999999999999h", 0, true},
        {"now-9223372036854775807s", 0, true},
        {"2024-01-02", 0, true},
        {"-", 0, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool repaired = !cases[i].repaired;
        const int64_t got = pyroscope_time_parse(bytes_from_text(cases[i].text), NOW, &repaired);
        if (got != cases[i].want || repaired != cases[i].repaired)
            fail_msg("%s: %lld, %d", cases[i].text, (long long)got, repaired);
    }
    bool repaired;
    assert_int_equal(pyroscope_time_parse(BYTES_LITERAL("1\0002"), NOW, &repaired), 0);
    assert_true(repaired);
    // Without a clock there is no tomorrow.
    assert_int_equal(pyroscope_time_parse(BYTES_LITERAL("4102444800"), 0, &repaired), 4102444800 * SECOND);
}

static void from_and_until_are_counted_when_they_make_no_sense(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int64_t from, until;
        uint64_t repaired;
    } cases[] = {
        {"name=a", 0, 0, 0},
        {"name=a&from=1795974801&until=1795974811", 1795974801 * SECOND, 1795974811 * SECOND, 0},
        {"name=a&from=0&until=0", 0, 0, 2},
        {"name=a&from=1795974811&until=1795974801", 1795974811 * SECOND, 0, 1},
        {"name=a&until=now&from=now-10s", NOW - 10 * SECOND, NOW, 0},
        {"name=a&from=17959748015&until=5", 0, 0, 2},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pyroscope_query q;
        good_query(&q, cases[i].query);
        assert_int_equal(q.from_nanos, cases[i].from);
        assert_int_equal(q.until_nanos, cases[i].until);
        assert_int_equal(q.repaired_times, cases[i].repaired);
        pyroscope_query_fini(&q);
    }
}

static void sample_rates_that_make_no_sense_are_the_default(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int64_t rate;
        bool said;
    } cases[] = {
        {"name=a", 100, false},
        {"name=a&sampleRate=", 100, false},
        {"name=a&sampleRate=0", 0, true},
        {"name=a&sampleRate=99", 99, true},
        {"name=a&sampleRate=+99", 99, true},
        {"name=a&sampleRate=100.0", 100, true},
        {"name=a&sampleRate=-1", 100, false},
        {"name=a&sampleRate=NaN", 100, false},
        {"name=a&sampleRate=0.5", 100, false},
        {"name=a&sampleRate=1000000000", 1000000000, true},
        {"name=a&sampleRate=1000000001", 100, false},
        {"name=a&sampleRate=99999999999999999999", 100, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pyroscope_query q;
        good_query(&q, cases[i].query);
        assert_int_equal(q.sample_rate, cases[i].rate);
        assert_int_equal(q.has_sample_rate, cases[i].said);
        pyroscope_query_fini(&q);
    }
}

static void the_rest_is_taken_as_sent(void **state)
{
    (void)state;
    struct pyroscope_query q;
    good_query(&q, "&&units=bytes&=x&aggregationType=average&spyName=go%20spy&format=PPROF&name=a&");
    assert_true(bytes_equal_text(q.units, "bytes"));
    assert_true(bytes_equal_text(q.aggregation_type, "average"));
    assert_true(bytes_equal_text(q.series.spy, "go spy"));
    assert_int_equal(q.format, PYROSCOPE_BODY_PPROF);
    assert_int_equal(q.format_text.len, 0);
    pyroscope_query_fini(&q);
    good_query(&q, "name=a&format=collapsed&units=");
    assert_int_equal(q.format, PYROSCOPE_BODY_UNSAID);
    assert_true(bytes_equal_text(q.format_text, "collapsed"));
    assert_int_equal(q.units.len, 0);
    pyroscope_query_fini(&q);
    static const char *const names[] = {"pprof", "jfr", "folded", "groups", "lines", "trie", "tree", "speedscope"};
    static const enum pyroscope_body bodies[] = {PYROSCOPE_BODY_PPROF,  PYROSCOPE_BODY_JFR,       PYROSCOPE_BODY_FOLDED,
                                                 PYROSCOPE_BODY_FOLDED, PYROSCOPE_BODY_LINES,     PYROSCOPE_BODY_TRIE,
                                                 PYROSCOPE_BODY_TREE,   PYROSCOPE_BODY_SPEEDSCOPE};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char text[64];
        snprintf(text, sizeof text, "name=a&format=%s", names[i]);
        good_query(&q, text);
        assert_int_equal(q.format, bodies[i]);
        pyroscope_query_fini(&q);
    }
}

static const char whole[] =
    "name=a%7Bk=v,l=w%7D&from=now-1h&until=1795974816&sampleRate=5&spyName=s&format=trie&units=u";

static void every_cut_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof whole; n++) {
        struct pyroscope_query q;
        struct err e = {0};
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, whole, n);
        const enum err_code code = pyroscope_query_parse((struct bytes){copy, n}, NOW, &q, &e);
        assert_true(code == ERR_OK || (code == ERR_INVALID && e.text[0] != '\0'));
        pyroscope_query_fini(&q);
        free(copy);
    }
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    enum err_code code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        struct pyroscope_query q;
        struct err e = {0};
        mem_fail_from(n);
        code = pyroscope_query_parse(bytes_from_text(whole), NOW, &q, &e);
        mem_fail_from(0);
        assert_true(code == ERR_OK || (code == ERR_MEMORY && e.text[0] != '\0'));
        assert_in_range(n, 1, 20);
        pyroscope_query_fini(&q);
    }
}

static void labels_are_found_by_the_last(void **state)
{
    (void)state;
    struct pyroscope_labels l;
    pyroscope_labels_init(&l);
    assert_null(pyroscope_labels_find(&l, "a").data);
    for (int i = 0; i < 100; i++)
        assert_true(pyroscope_labels_add(&l, bytes_from_text(i % 2 ? "a" : "b"), bytes_from_text(i < 98 ? "1" : "2")));
    assert_int_equal(l.count, 100);
    assert_true(bytes_equal_text(pyroscope_labels_find(&l, "a"), "2"));
    assert_null(pyroscope_labels_find(&l, "c").data);
    pyroscope_labels_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_have_labels),
        cmocka_unit_test(escapes_that_are_none_stand_for_themselves),
        cmocka_unit_test(names_that_cannot_be_read_name_the_place),
        cmocka_unit_test(values_keep_what_they_hold),
        cmocka_unit_test(labels_are_limited),
        cmocka_unit_test(times_are_told_by_their_digits),
        cmocka_unit_test(from_and_until_are_counted_when_they_make_no_sense),
        cmocka_unit_test(sample_rates_that_make_no_sense_are_the_default),
        cmocka_unit_test(the_rest_is_taken_as_sent),
        cmocka_unit_test(every_cut_is_read_or_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(labels_are_found_by_the_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
