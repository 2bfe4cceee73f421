// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "codec/formats.h"
#include "codec/pyroscope_series.h"
#include "tests/support/random_batch.h"

#include <stdio.h>
#include <stdlib.h>

// --- in ---

#define TEXT(text) {(const uint8_t *)(text), sizeof(text) - 1}

static struct pyroscope_settings plain_settings(void)
{
    return (struct pyroscope_settings){.limits = &decode_default_limits};
}

// "a=1,b=2": the first '=' of each ends the name.
static void add_labels(struct pyroscope_labels *l, const char *text)
{
    while (*text != '\0') {
        const size_t name = strcspn(text, "="), all = strcspn(text, ",");
        assert_true(pyroscope_labels_add(l, (struct bytes){(const uint8_t *)text, name},
                                         (struct bytes){(const uint8_t *)text + name + 1, all - name - 1}));
        text += all + (text[all] == ',');
    }
}

static void print_list(struct buf *out, const char *title, const struct key_value *list, uint32_t count)
{
    buf_add_format(out, "%s:", title);
    for (uint32_t i = 0; i < count; i++) {
        buf_add_format(out, " %.*s=", BYTES_PRINT(list[i].key));
        value_print(out, &list[i].value);
    }
    buf_add_text(out, "\n");
}

static void print_attributes(struct buf *out, const struct pyroscope_attributes *a)
{
    print_list(out, "resource", a->resource, a->resource_count);
    if (a->scope_name.len + a->scope_version.len + a->scope_count > 0) {
        buf_add_format(out, "scope %.*s %.*s", BYTES_PRINT(a->scope_name), BYTES_PRINT(a->scope_version));
        print_list(out, "", a->scope, a->scope_count);
    }
    print_list(out, "profile", a->profile, a->profile_count);
}

struct said {
    const char *labels, *app, *spy, *user_agent, *type; // app NULL = Push
};

static void begin_series(const struct said *said, struct pyroscope_series *series)
{
    *series = (struct pyroscope_series){
        .app_name = bytes_from_text(said->app),
        .spy = bytes_from_text(said->spy),
        .user_agent = bytes_from_text(said->user_agent),
    };
    pyroscope_labels_init(&series->labels);
    add_labels(&series->labels, said->labels);
}

static void becomes_with(const struct pyroscope_settings *settings, struct said said, const char *want)
{
    struct pyroscope_series series;
    struct pyroscope_attributes a;
    struct buf text;
    struct err e;
    begin_series(&said, &series);
    buf_init(&text, 1 << 20);
    assert_int_equal(pyroscope_attributes_make(&series, said.type, settings, &a, &e), ERR_OK);
    print_attributes(&text, &a);
    buf_add_byte(&text, 0);
    assert_string_equal((const char *)text.data, want);
    buf_fini(&text);
    pyroscope_attributes_fini(&a);
    pyroscope_labels_fini(&series.labels);
}

static void becomes(struct said said, const char *want)
{
    const struct pyroscope_settings settings = plain_settings();
    becomes_with(&settings, said, want);
}

static void labels_become_attributes(void **state)
{
    (void)state;
    becomes((struct said){.labels = "team=demo,__name__=process_cpu,service_name=shop,region=eu,__session_id__=5d,"
                                    "__delta__=false,__order__=x,otel.scope.name=lib,otel.scope.version=1.2"},
            "resource: service.name=shop region=eu team=demo\nscope lib 1.2:\n"
            "profile: pyroscope.profile_type=process_cpu pyroscope.session_id=5d pyroscope.delta=false\n");
    becomes((struct said){.labels = ""}, "resource: service.name=unknown_service\nprofile:\n");
    becomes((struct said){.labels = "service_name=,empty=,=x,a="},
            "resource: service.name=unknown_service\nprofile:\n");
}

static void one_service_name_comes_out(void **state)
{
    (void)state;
    static const char delta[] = "profile: pyroscope.delta=false\n";
    char want[256];
    const struct {
        const char *app, *labels, *resource;
    } rows[] = {
        {"app", "a=1", "service.name=app a=1"},
        {"app", "service_name=app", "service.name=app"},
        {"app", "service_name=other", "service.name=other app_name=app"},
        {"app", "service_name=other,app_name=said", "service.name=other app_name=said"},
        {"app", "service_name=", "service.name=app"},
        {"", "service_name=other", "service.name=other"},
        {"app", "__name__=renamed", "service.name=renamed"},
        {"app", "service.name=dotted", "service.name=app"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        snprintf(want, sizeof want, "resource: %s\n%s", rows[i].resource, delta);
        becomes((struct said){.app = rows[i].app, .labels = rows[i].labels}, want);
    }
    becomes((struct said){.labels = "service_name=first,service_name=second"},
            "resource: service.name=first\nprofile:\n");
    becomes((struct said){.labels = "service.name=dotted"}, "resource: service.name=dotted\nprofile:\n");
}

static void of_two_labels_of_one_name_the_later_wins(void **state)
{
    (void)state;
    becomes((struct said){.labels = "z=1,b=1,z=2,a=1,z=3,b=,otel.scope.name=x,otel.scope.name=y"},
            "resource: service.name=unknown_service a=1 b=1 z=3\nscope y :\nprofile:\n");
}

static void the_spy_tells_language_and_runtime(void **state)
{
    (void)state;
#define DERIVED(more) " pyroscope.derived_attributes=[\"telemetry.sdk.language\",\"telemetry.sdk.name\"" more "]\n"
    becomes((struct said){.app = "x", .labels = "", .spy = "gospy", .type = "process_cpu"},
            "resource: service.name=x telemetry.sdk.language=go telemetry.sdk.name=pyroscope process.runtime.name=go\n"
            "profile: pyroscope.profile_type=process_cpu pyroscope.delta=false pyroscope.spy=gospy" DERIVED(
                ",\"process.runtime.name\""));
    becomes(
        (struct said){.app = "x", .labels = "process.runtime.name=gccgo", .spy = "gospy"},
        "resource: service.name=x process.runtime.name=gccgo telemetry.sdk.language=go telemetry.sdk.name=pyroscope\n"
        "profile: pyroscope.delta=false pyroscope.spy=gospy" DERIVED(""));
    becomes((struct said){.labels = "service_name=x,spy_name=dotnetspy"},
            "resource: service.name=x telemetry.sdk.language=dotnet telemetry.sdk.name=pyroscope\n"
            "profile: pyroscope.spy=dotnetspy" DERIVED(""));
    becomes((struct said){.labels = "service_name=x,spyName=phpspy,spy_name=rbspy"},
            "resource: service.name=x telemetry.sdk.language=ruby telemetry.sdk.name=pyroscope\n"
            "profile: pyroscope.spy=rbspy" DERIVED(""));
    becomes((struct said){.labels = "service_name=x", .user_agent = "pyroscope-rs/pyspy/1.4.0 reqwest"},
            "resource: service.name=x telemetry.sdk.language=python telemetry.sdk.name=pyroscope "
            "telemetry.sdk.version=1.4.0 "
            "process.runtime.name=cpython\nprofile: pyroscope.derived_attributes=[\"telemetry.sdk.language\","
            "\"telemetry.sdk.name\",\"telemetry.sdk.version\",\"process.runtime.name\"]\n");
    becomes((struct said){.labels = "service_name=x,otel.scope.name=com.grafana.pyroscope/java"},
            "resource: service.name=x telemetry.sdk.language=java telemetry.sdk.name=pyroscope\n"
            "scope com.grafana.pyroscope/java :\nprofile:" DERIVED(""));
    becomes((struct said){.labels = "service_name=x,pyroscope_spy=alloy.java"},
            "resource: service.name=x telemetry.sdk.language=java\n"
            "profile: pyroscope.spy=alloy.java pyroscope.derived_attributes=[\"telemetry.sdk.language\"]\n");
}

static void nothing_is_claimed_that_is_not_sure(void **state)
{
    (void)state;
    static const char *const agents[] = {"",          "pyroscope-rs/", "pyroscope-rs//", "pyroscope-rs/x/1.0",
                                         "Alloy/1.2", "node"};
    for (size_t i = 0; i < COUNT_OF(agents); i++)
        becomes((struct said){.labels = "service_name=x", .user_agent = agents[i]},
                "resource: service.name=x\nprofile:\n");
    becomes((struct said){.labels = "service_name=x,pyroscope_spy=ebpf,otel.scope.name=com.grafana.pyroscope/"},
            "resource: service.name=x\nscope com.grafana.pyroscope/ :\nprofile: pyroscope.spy=ebpf\n");
}

static void labels_go_to_the_scope_where_wanted(void **state)
{
    (void)state;
    struct pyroscope_settings settings = plain_settings();
    settings.labels_to_scope = true;
    becomes_with(&settings, (struct said){.app = "a", .labels = "service_name=x,team=t,process.runtime.version=3,b=2"},
                 "resource: service.name=x process.runtime.version=3 app_name=a\nscope  : b=2 team=t\n"
                 "profile: pyroscope.delta=false\n");
}

static void what_is_configured_wins(void **state)
{
    (void)state;
    static const struct key_value configured[] = {
        {TEXT("service.name"), {.kind = VALUE_STRING, .bytes = TEXT("ours")}},
        {TEXT("team"), {.kind = VALUE_INT, .integer = 7}},
        {TEXT("telemetry.sdk.name"), {.kind = VALUE_STRING, .bytes = TEXT("own")}},
    };
    struct pyroscope_settings settings = plain_settings();
    settings.resource_attributes = configured;
    settings.resource_attribute_count = COUNT_OF(configured);
    becomes_with(&settings, (struct said){.labels = "service_name=x,team=t,a=1,pyroscope_spy=rbspy"},
                 "resource: service.name=ours team=7 telemetry.sdk.name=own a=1 telemetry.sdk.language=ruby\n"
                 "profile: pyroscope.spy=rbspy pyroscope.derived_attributes=[\"telemetry.sdk.language\"]\n");
    settings.labels_to_scope = true;
    becomes_with(&settings, (struct said){.labels = "team=t,b=1"},
                 "resource: service.name=ours team=7 telemetry.sdk.name=own\nscope  : b=1\nprofile:\n");
}

static void refuses(struct pyroscope_labels *l, const char *want)
{
    const struct pyroscope_settings settings = plain_settings();
    const struct pyroscope_series series = {.labels = *l};
    struct pyroscope_attributes a;
    struct err e;
    assert_int_equal(pyroscope_attributes_make(&series, NULL, &settings, &a, &e), ERR_LIMIT);
    assert_string_equal(e.text, want);
    pyroscope_attributes_fini(&a);
    pyroscope_labels_fini(l);
}

static void limits_name_what_was_measured(void **state)
{
    (void)state;
    static const uint8_t big[PYROSCOPE_MAX_LABEL_VALUE_BYTES + 1];
    const struct pyroscope_settings settings = plain_settings();
    struct pyroscope_attributes a;
    struct pyroscope_series series = {0};
    pyroscope_labels_init(&series.labels);
    for (size_t i = 0; i < PYROSCOPE_MAX_LABELS; i++)
        assert_true(pyroscope_labels_add(&series.labels, (struct bytes){big, i + 1}, BYTES_LITERAL("v")));
    assert_int_equal(pyroscope_attributes_make(&series, NULL, &settings, &a, NULL), ERR_OK);
    assert_int_equal(a.resource_count, PYROSCOPE_MAX_LABELS + 1);
    pyroscope_attributes_fini(&a);
    assert_true(pyroscope_labels_add(&series.labels, BYTES_LITERAL("one"), BYTES_LITERAL("more")));
    refuses(&series.labels, "the series has 257 labels, allowed are 256");
    add_labels(&series.labels, "a=b");
    assert_true(pyroscope_labels_add(&series.labels, (struct bytes){big, 1025}, BYTES_LITERAL("v")));
    refuses(&series.labels, "label 2: its name has 1025 bytes, allowed are 1024");
    assert_true(pyroscope_labels_add(&series.labels, BYTES_LITERAL("n"), (struct bytes){big, sizeof big}));
    refuses(&series.labels, "label 1: its value has 65537 bytes, allowed are 65536");
}

static void broken_names_are_repaired(void **state)
{
    (void)state;
    becomes((struct said){.labels = "a\xff=1,a\xfe=2"},
            "resource: service.name=unknown_service a\xef\xbf\xbd=2\nprofile:\n");
}

static void types_have_names(void **state)
{
    (void)state;
    static const struct {
        const char *types[4], *name;
    } rows[] = {
        {{"samples", "cpu"}, "process_cpu"},
        {{"cpu-samples"}, "process_cpu"},
        {{"samples"}, "process_cpu"},
        {{"samples", "wall", "cpu"}, "wall"},
        {{"wall-cpu"}, "process_cpu"},
        {{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}, "memory"},
        {{"inuse-space"}, "memory"},
        {{"objects", "space"}, "memory"},
        {{"mutex_count", "mutex_duration"}, "mutex"},
        {{"contentions", "delay"}, "mutex"},
        {{"block_count", "block_duration"}, "block"},
        {{"goroutine"}, "goroutine"},
        {{"goroutines"}, "goroutines"},
        {{"goroutineleak"}, "goroutine_leak"},
        {{"off_cpu"}, "off_cpu"},
        {{"exceptions"}, "exceptions"},
        {{"cycles"}, NULL},
        {{""}, NULL},
        {{NULL}, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes names[4];
        size_t count = 0;
        while (count < 4 && rows[i].types[count] != NULL) {
            names[count] = bytes_from_text(rows[i].types[count]);
            count++;
        }
        const char *got = pyroscope_profile_type_of(names, count);
        if (rows[i].name == NULL)
            assert_null(got);
        else
            assert_string_equal(got, rows[i].name);
    }
}

// All types of a pprof may be one long string, which would take minutes if all of it were looked at.
static void types_of_any_length_take_no_time(void **state)
{
    (void)state;
    enum { SIZE = 16 << 20, TYPES = 64 };
    char *text = malloc(SIZE);
    struct bytes names[TYPES];
    memset(text, 'c', SIZE);
    for (size_t i = 0; i < TYPES; i++)
        names[i] = (struct bytes){(const uint8_t *)text, SIZE};
    assert_null(pyroscope_profile_type_of(names, TYPES));
    memcpy(text + 250, "alloc_", 6);
    assert_string_equal(pyroscope_profile_type_of(names, TYPES), "memory");
    free(text);
}

// --- out ---

struct type {
    const char *type, *unit;
};

struct given {
    const char *labels;                                 // attributes of the resource
    const struct key_value *resource, *scope, *profile; // more of them
    uint32_t resource_count, scope_count, profile_count;
    const char *scope_name, *scope_version;
    struct type types[4], period;
};

static void add_profile(struct builder *b, const struct given *g, const struct type *t)
{
    struct sample_writer samples;
    struct observation_writer values;
    struct decode_options o = {.profile_attributes = g->profile, .profile_attribute_count = g->profile_count};
    sample_writer_init(&samples, b);
    observation_writer_init(&values, b);
    const struct profile p = {
        .sample_type = {builder_string_text(b, t->type), builder_string_text(b, t->unit)},
        .period_type = {builder_string_text(b, g->period.type), builder_string_text(b, g->period.unit)},
        .attribute_set = decode_profile_attributes(&o, b, NULL, 0),
        .columns = sample_writer_take(&samples),
        .observations = observation_writer_take(&values),
    };
    builder_profile(b, &p);
    sample_writer_fini(&samples);
    observation_writer_fini(&values);
}

static struct batch *make_batch(const struct given *g)
{
    struct builder *b = builder_create(0);
    struct pyroscope_labels l;
    struct key_value list[64];
    uint32_t count = 0;
    struct batch *out;
    struct err e;
    pyroscope_labels_init(&l);
    add_labels(&l, g->labels != NULL ? g->labels : "");
    for (; count < l.count; count++)
        list[count] = (struct key_value){l.items[count].name, value_string(l.items[count].value)};
    for (uint32_t i = 0; i < g->resource_count; i++)
        list[count++] = g->resource[i];
    builder_resource(b, list, count, 0, (struct bytes){0});
    builder_scope(b, bytes_from_text(g->scope_name), bytes_from_text(g->scope_version), g->scope, g->scope_count, 0,
                  (struct bytes){0});
    for (size_t i = 0; i < COUNT_OF(g->types) && (i == 0 || g->types[i].type != NULL); i++)
        add_profile(b, g, &g->types[i]);
    assert_int_equal(builder_finish(b, &out, &e), ERR_OK);
    builder_destroy(&b);
    pyroscope_labels_fini(&l);
    return out;
}

static void print_labels(struct buf *out, const struct pyroscope_labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        buf_add_format(out, "%s%.*s=", i > 0 ? "," : "", BYTES_PRINT(l->items[i].name));
        buf_add(out, l->items[i].value.data, l->items[i].value.len);
    }
    buf_add_byte(out, 0);
}

static struct pyroscope_label_report gives_with(const struct pyroscope_label_settings *settings, struct given g,
                                                const char *want)
{
    struct batch *b = make_batch(&g);
    const struct scope *s = b->resources[0]->scopes[0];
    struct pyroscope_label_report report = {0};
    struct pyroscope_labels l;
    struct buf text;
    struct err e;
    buf_init(&text, 1 << 20);
    assert_int_equal(pyroscope_labels_of(b, b->resources[0], s, 0, s->profile_count, settings, &l, &report, &e),
                     ERR_OK);
    print_labels(&text, &l);
    assert_string_equal((const char *)text.data, want);
    buf_fini(&text);
    pyroscope_labels_fini(&l);
    batch_unref(&b);
    return report;
}

static void gives(struct given g, const char *want)
{
    const struct pyroscope_label_settings settings = {0};
    const struct pyroscope_label_report report = gives_with(&settings, g, want);
    assert_int_equal(report.dropped + report.shortened, 0);
}

static void attributes_become_labels(void **state)
{
    (void)state;
    gives((struct given){.types = {{"cpu", "nanoseconds"}}},
          "__delta__=false,__name__=process_cpu,service_name=unknown_service");
    gives((struct given){.labels = "service.name=shop,b=2,host.name=h,A=1",
                         .types = {{"cpu", "nanoseconds"}},
                         .scope_name = "lib",
                         .scope_version = "1"},
          "A=1,__delta__=false,__name__=process_cpu,b=2,host.name=h,otel.scope.name=lib,otel.scope.version=1,service_"
          "name=shop");
    static const struct value one[] = {{.kind = VALUE_STRING, .bytes = TEXT("x")}};
    static const struct value two[] = {{.kind = VALUE_STRING, .bytes = TEXT("x")}, {.kind = VALUE_INT, .integer = 2}};
    static const struct key_value kinds[] = {
        {TEXT("bool"), {.kind = VALUE_BOOL, .boolean = true}},
        {TEXT("double"), {.kind = VALUE_DOUBLE, .number = 1.5}},
        {TEXT("empty"), {.kind = VALUE_EMPTY}},
        {TEXT("int"), {.kind = VALUE_INT, .integer = -3}},
        {TEXT("nothing"), {.kind = VALUE_STRING}},
        {TEXT("one"), {.kind = VALUE_ARRAY, .count = 1, .items = one}},
        {TEXT("pprof.scope.default_sample_type"), {.kind = VALUE_STRING, .bytes = TEXT("cpu")}},
        {TEXT("two"), {.kind = VALUE_ARRAY, .count = 2, .items = two}},
    };
    gives(
        (struct given){
            .labels = "service.name=s", .scope = kinds, .scope_count = COUNT_OF(kinds), .types = {{"wall", "ns"}}},
        "__delta__=false,__name__=wall,bool=true,double=1.5,int=-3,one=x,service_name=s,two=[\"x\",2]");
}

static void profiles_have_pyroscopes_names(void **state)
{
    (void)state;
    static const struct {
        struct type types[4], period;
        const char *name;
    } rows[] = {
        {{{"samples", "count"}}, {"cpu", "nanoseconds"}, "process_cpu"},
        {{{"samples", "count"}}, {"wall", "nanoseconds"}, "wall"},
        {{{"samples", "count"}}, {"samples", "count"}, "process_cpu"},
        {{{"samples", "count"}, {"cpu", "nanoseconds"}}, {"cpu", "nanoseconds"}, "process_cpu"},
        {{{"contentions", "count"}, {"delay", "nanoseconds"}}, {"block", "count"}, "block"},
        {{{"contentions", "count"}, {"delay", "nanoseconds"}}, {"contentions", "count"}, "mutex"},
        {{{"off_cpu", "nanoseconds"}}, {"", ""}, "off_cpu"},
        {{{"inuse_space", "bytes"}}, {"space", "bytes"}, "memory"},
        {{{"cycles", "count"}}, {"cycles", "count"}, "cycles"},
        {{{"L1-dcache misses", "count"}}, {"", ""}, "L1_dcache_misses"},
        {{{"9lives", "count"}}, {"", ""}, "_9lives"},
        {{{"z\xc3\xa4hler", "count"}}, {"", ""}, "z_hler"},
        {{{"", ""}}, {"", ""}, "unknown"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char want[128];
        struct given g = {.labels = "service.name=s", .period = rows[i].period};
        memcpy(g.types, rows[i].types, sizeof g.types);
        snprintf(want, sizeof want, "__delta__=false,__name__=%s,service_name=s", rows[i].name);
        gives(g, want);
    }
}

static void what_pyroscope_said_goes_back(void **state)
{
    (void)state;
    static const struct value keys[] = {{.kind = VALUE_STRING, .bytes = TEXT("telemetry.sdk.language")}};
    static const struct key_value profile[] = {
        {TEXT("pyroscope.profile_type"), {.kind = VALUE_STRING, .bytes = TEXT("lock-held")}},
        {TEXT("pyroscope.session_id"), {.kind = VALUE_STRING, .bytes = TEXT("5d")}},
        {TEXT("pyroscope.spy"), {.kind = VALUE_STRING, .bytes = TEXT("gospy")}},
        {TEXT("pyroscope.derived_attributes"), {.kind = VALUE_ARRAY, .count = 1, .items = keys}},
        {TEXT("pyroscope.delta"), {.kind = VALUE_STRING, .bytes = TEXT("true")}},
    };
    struct given g = {.labels = "service.name=s,telemetry.sdk.language=go,telemetry.sdk.name=mine",
                      .profile = profile,
                      .profile_count = COUNT_OF(profile),
                      .types = {{"cpu", "nanoseconds"}}};
    gives(g, "__delta__=true,__name__=lock_held,__session_id__=5d,pyroscope_spy=gospy,service_name=s,telemetry.sdk."
             "name=mine");
    g.profile_count = 4; // a client that said nothing of it
    gives(g, "__name__=lock_held,__session_id__=5d,pyroscope_spy=gospy,service_name=s,telemetry.sdk.name=mine");
}

static void a_long_list_of_derived_attributes_costs_nothing(void **state)
{
    (void)state;
    struct value keys[9];
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        keys[i] = value_string(i < 8 ? BYTES_LITERAL("a") : BYTES_LITERAL("b"));
    const struct key_value profile = {BYTES_LITERAL("pyroscope.derived_attributes"),
                                      {.kind = VALUE_ARRAY, .count = COUNT_OF(keys), .items = keys}};
    gives(
        (struct given){
            .labels = "service.name=s,a=1,b=2", .profile = &profile, .profile_count = 1, .types = {{"cpu", ""}}},
        "__name__=process_cpu,b=2,service_name=s");
}

static void what_collides_is_dropped_and_counted(void **state)
{
    (void)state;
    struct pyroscope_label_settings settings = {.sanitize = true};
    struct given g = {
        .labels = "a.b=dot,a_b=plain,a-b=dash,service.name=s,service_name=again,9=nine,\xc3\xa4\x01=u,__x=private",
        .types = {{"cpu", "nanoseconds"}}};
    struct pyroscope_label_report report =
        gives_with(&settings, g, "_9=nine,__delta__=false,__name__=process_cpu,a_b=dash,service_name=s");
    assert_int_equal(report.dropped, 4); // two of a_b, __x, and the '__' of two odd characters
    settings.sanitize = false;
    report =
        gives_with(&settings, g,
                   "9=nine,__delta__=false,__name__=process_cpu,a-b=dash,a.b=dot,a_b=plain,service_name=s,\xc3\xa4_=u");
    assert_int_equal(report.dropped, 1);
    static const struct key_value scope[] = {{TEXT("a"), {.kind = VALUE_STRING, .bytes = TEXT("scope")}}};
    report = gives_with(
        &settings,
        (struct given){
            .labels = "service_name=s,a=resource", .scope = scope, .scope_count = 1, .types = {{"wall", ""}}},
        "__delta__=false,__name__=wall,a=resource,service_name=s");
    assert_int_equal(report.dropped, 1);
}

static void labels_are_chosen_and_renamed(void **state)
{
    (void)state;
    static const char *const allow[] = {"host.name", "k8s.pod.name", "otel.scope.name"};
    static const struct pyroscope_label_rename rename[] = {{"k8s.pod.name", "pod"}, {"region", "zone"}};
    struct pyroscope_label_settings settings = {.allow = allow, .allow_count = 3, .rename = rename, .rename_count = 2};
    const struct given g = {.labels = "service.name=s,host.name=h,k8s.pod.name=p,region=r",
                            .types = {{"cpu", ""}},
                            .scope_name = "n",
                            .scope_version = "v"};
    gives_with(&settings, g, "__delta__=false,__name__=process_cpu,host.name=h,otel.scope.name=n,pod=p,service_name=s");
    settings.allow_count = 0;
    gives_with(&settings, g, "__delta__=false,__name__=process_cpu,service_name=s");
    settings.allow = NULL;
    gives_with(&settings, g,
               "__delta__=false,__name__=process_cpu,host.name=h,otel.scope.name=n,otel.scope.version=v,pod=p,"
               "service_name=s,zone=r");
}

static void limits_hold(void **state)
{
    (void)state;
    struct pyroscope_label_settings settings = {.max_labels = 5};
    struct given g = {.labels = "d=4,c=3,b=2,a=1,service.name=s", .types = {{"cpu", ""}}};
    struct pyroscope_label_report report =
        gives_with(&settings, g, "__delta__=false,__name__=process_cpu,a=1,b=2,service_name=s");
    assert_int_equal(report.dropped, 2);
    settings.max_labels = 1;
    report = gives_with(&settings, g, "__delta__=false,__name__=process_cpu,service_name=s");
    assert_int_equal(report.dropped, 4);
    settings = (struct pyroscope_label_settings){.max_name_bytes = 4, .max_value_bytes = 5};
    g.labels = "service.name=serv\xc3\xa4,lon\xc3\xa4=valu\xc3\xa4,longer=12345,longest=1";
    report = gives_with(&settings, g, "__delta__=false,__name__=proce,lon=valu,long=12345,service_name=serv");
    assert_int_equal(report.shortened, 6);
    assert_int_equal(report.dropped, 1);
}

static void the_primary_profile_is_found(void **state)
{
    (void)state;
    static const struct {
        struct type types[4];
        uint32_t primary;
    } rows[] = {
        {{{"samples", "count"}, {"cpu", "nanoseconds"}}, 1},
        {{{"samples", "count"}, {"wall", "nanoseconds"}, {"cpu", "nanoseconds"}}, 2},
        {{{"cpu", "count"}, {"wall", "nanoseconds"}}, 1},
        {{{"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"}, {"inuse_space", "bytes"}},
         3},
        {{{"alloc_objects", "count"}, {"alloc-space", "bytes"}}, 1},
        {{{"contentions", "count"}, {"delay", "nanoseconds"}}, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct given g = {0};
        memcpy(g.types, rows[i].types, sizeof g.types);
        struct batch *b = make_batch(&g);
        const struct scope *s = b->resources[0]->scopes[0];
        assert_int_equal(pyroscope_primary_profile(b, s, 0, s->profile_count), rows[i].primary);
        if (rows[i].primary > 0)
            assert_int_equal(pyroscope_primary_profile(b, s, 1, 1), 0);
        batch_unref(&b);
    }
}

static void memory_may_run_out(void **state)
{
    (void)state;
    const struct said said = {.labels = "service_name=s,a\xff=1,b.c=2,pyroscope_spy=gospy",
                              .user_agent = "pyroscope-rs/x/1"};
    const struct pyroscope_settings settings = plain_settings();
    const struct pyroscope_label_settings label_settings = {.sanitize = true};
    const struct given g = {.labels = "a.b=1,service.name=s", .types = {{"x-y", ""}}, .scope_name = "n"};
    struct batch *b = make_batch(&g);
    const struct scope *s = b->resources[0]->scopes[0];
    struct pyroscope_series series;
    struct pyroscope_attributes a;
    struct pyroscope_label_report report = {0};
    struct pyroscope_labels l;
    begin_series(&said, &series);
    enum err_code code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        mem_fail_from(n);
        code = pyroscope_attributes_make(&series, NULL, &settings, &a, NULL);
        mem_fail_from(0);
        assert_true(code == ERR_OK ? n > 1 : code == ERR_MEMORY);
        pyroscope_attributes_fini(&a);
    }
    code = ERR_MEMORY;
    for (size_t n = 1; code != ERR_OK; n++) {
        mem_fail_from(n);
        code = pyroscope_labels_of(b, b->resources[0], s, 0, 1, &label_settings, &l, &report, NULL);
        mem_fail_from(0);
        assert_true(code == ERR_OK ? n > 3 : code == ERR_MEMORY);
        pyroscope_labels_fini(&l);
    }
    pyroscope_labels_fini(&series.labels);
    batch_unref(&b);
}

// --- there and back: Push -> OTLP -> Push ---

// "name=value" of every label as it should come back, by rules of its own: sorted, and never through the codec.
struct model {
    struct pyroscope_label items[64];
    size_t count;
};

static struct pyroscope_label *model_find(struct model *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (bytes_equal_text(m->items[i].name, name))
            return &m->items[i];
    return NULL;
}

static void model_put(struct model *m, const char *name, const char *value, bool keep)
{
    struct pyroscope_label *l = model_find(m, name);
    if (l == NULL)
        m->items[m->count++] = (struct pyroscope_label){bytes_from_text(name), bytes_from_text(value)};
    else if (!keep)
        l->value = bytes_from_text(value);
}

static int compare_model(const void *left, const void *right)
{
    const struct pyroscope_label *a = left, *b = right;
    return bytes_compare(a->name, b->name);
}

static const char *const label_names[] = {
    "service_name",
    "__session_id__",
    "__delta__",
    "pyroscope_spy",
    "otel.scope.name",
    "otel.scope.version",
    "process.runtime.name",
    "process.runtime.version",
    "telemetry.sdk.language",
    "telemetry.sdk.name",
    "region",
    "team",
    "zone-1",
    "a.b",
    "a_b",
    "z\xc3\xa4hler",
    "app_name",
    "Upper",
    "0",
    "x y",
};
static const char *const label_values[] = {"",    "gospy",   "pyspy", "dotnetspy", "com.grafana.pyroscope/go",
                                           "go",  "cpython", "false", "true",      "gr\xc3\xbcn, {x}",
                                           "1.5", "false "};

static void random_labels(struct test_random *r, struct pyroscope_labels *l, struct model *m)
{
    static const char *const types[] = {"process_cpu", "memory", "goroutine", "own_type"};
    const uint32_t count = test_random_below(r, 30), type = test_random_below(r, COUNT_OF(types));
    model_put(m, "__name__", types[type], false);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = label_names[test_random_below(r, COUNT_OF(label_names))];
        const char *value = label_values[test_random_below(r, COUNT_OF(label_values))];
        if (i == count / 2)
            assert_true(pyroscope_labels_add(l, BYTES_LITERAL("__name__"), bytes_from_text(types[type])));
        assert_true(pyroscope_labels_add(l, bytes_from_text(name), bytes_from_text(value)));
        if (value[0] != '\0')
            model_put(m, name, value, strcmp(name, "service_name") == 0);
    }
    if (count == 0)
        assert_true(pyroscope_labels_add(l, BYTES_LITERAL("__name__"), bytes_from_text(types[type])));
    if (model_find(m, "service_name") == NULL)
        model_put(m, "service_name", "unknown_service", false);
    qsort(m->items, m->count, sizeof *m->items, compare_model);
}

static struct batch *through_otlp(const struct decode_options *o)
{
    const struct format_choice folded = {.format = &folded_format}, otlp = {.format = &otlp_proto_format};
    const struct encode_options none = {0};
    struct encode_report encoded = {0};
    struct decode_report report;
    struct batch *b;
    struct buf wire;
    struct err e;
    buf_init(&wire, SIZE_MAX);
    assert_int_equal(format_decode(BYTES_LITERAL("a;b 1\n"), &folded, o, &b, &report, &e), ERR_OK);
    assert_int_equal(otlp_proto_format.encode(b, &none, &wire, &encoded, &e), ERR_OK);
    batch_unref(&b);
    assert_int_equal(format_decode(buf_bytes(&wire), &otlp, NULL, &b, &report, &e), ERR_OK);
    buf_fini(&wire);
    return b;
}

static void come_back(const struct pyroscope_series *series, bool to_scope, struct pyroscope_labels *out)
{
    struct pyroscope_settings settings = plain_settings();
    const struct pyroscope_label_settings label_settings = {0};
    struct pyroscope_label_report report = {0};
    struct pyroscope_attributes a;
    struct decode_options o = {0};
    struct err e;
    settings.labels_to_scope = to_scope;
    assert_int_equal(pyroscope_attributes_make(series, NULL, &settings, &a, &e), ERR_OK);
    pyroscope_attributes_apply(&a, &o);
    struct batch *b = through_otlp(&o);
    const struct resource *r = b->resources[0];
    assert_int_equal(pyroscope_labels_of(b, r, r->scopes[0], 0, 1, &label_settings, out, &report, &e), ERR_OK);
    assert_int_equal(report.dropped + report.shortened, 0);
    // What lies in the batch must outlive it here.
    for (size_t i = 0; i < out->count; i++) {
        assert_true(arena_try_copy(&out->texts, out->items[i].name, &out->items[i].name));
        assert_true(arena_try_copy(&out->texts, out->items[i].value, &out->items[i].value));
    }
    batch_unref(&b);
    pyroscope_attributes_fini(&a);
}

static void push_to_otlp_to_push_keeps_every_label(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct test_random r = {seed};
        struct pyroscope_series series = {0};
        struct pyroscope_labels back;
        struct model m = {.count = 0};
        if (test_random_chance(&r, 50))
            series.user_agent = BYTES_LITERAL("pyroscope-rs/pyroscope-rs/2.1.5 reqwest");
        pyroscope_labels_init(&series.labels);
        random_labels(&r, &series.labels, &m);
        come_back(&series, test_random_chance(&r, 50), &back);
        bool same = back.count == m.count;
        for (size_t i = 0; same && i < m.count; i++)
            same =
                bytes_equal(back.items[i].name, m.items[i].name) && bytes_equal(back.items[i].value, m.items[i].value);
        if (!same)
            fail_msg("seed %llu: %zu labels became %zu", (unsigned long long)seed, m.count, back.count);
        pyroscope_labels_fini(&back);
        pyroscope_labels_fini(&series.labels);
    }
}

// --- what servers take, whatever the batch has ---

static bool is_plain_name(struct bytes name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    for (size_t i = 0; i < name.len; i++)
        if (memchr(plain, name.data[i], sizeof plain - 1) == NULL)
            return false;
    return name.len > 0 && (name.data[0] < '0' || name.data[0] > '9');
}

static void server_takes(const struct pyroscope_labels *l, const struct pyroscope_label_settings *s)
{
    assert_true(l->count >= 2 && l->count <= s->max_labels);
    assert_true(pyroscope_labels_find(l, "__name__").len > 0);
    assert_true(pyroscope_labels_find(l, "service_name").len > 0);
    for (size_t i = 0; i < l->count; i++) {
        const struct pyroscope_label *label = &l->items[i];
        assert_true(i == 0 || bytes_compare(l->items[i - 1].name, label->name) < 0);
        assert_true(is_plain_name(label->name) && label->name.len <= 8 + sizeof "service_name");
        assert_true(utf8_valid(label->value) && label->value.len > 0 && label->value.len <= s->max_value_bytes);
    }
}

static void any_batch_gives_labels_that_servers_take(void **state)
{
    (void)state;
    const struct pyroscope_label_settings settings = {
        .sanitize = true, .max_labels = 6, .max_name_bytes = 8, .max_value_bytes = 9};
    struct pyroscope_label_report report = {0};
    uint64_t count = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct batch *b = random_batch(seed, NULL);
        for (uint32_t i = 0; i < b->resource_count; i++) {
            const struct resource *r = b->resources[i];
            for (uint32_t k = 0; k < r->scope_count; k++) {
                struct pyroscope_labels l;
                if (r->scopes[k]->profile_count == 0)
                    continue;
                assert_int_equal(pyroscope_labels_of(b, r, r->scopes[k], 0, r->scopes[k]->profile_count, &settings, &l,
                                                     &report, NULL),
                                 ERR_OK);
                server_takes(&l, &settings);
                pyroscope_labels_fini(&l);
                count++;
            }
        }
        batch_unref(&b);
    }
    assert_true(count > 50 && report.dropped > 0 && report.shortened > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_become_attributes),
        cmocka_unit_test(one_service_name_comes_out),
        cmocka_unit_test(of_two_labels_of_one_name_the_later_wins),
        cmocka_unit_test(the_spy_tells_language_and_runtime),
        cmocka_unit_test(nothing_is_claimed_that_is_not_sure),
        cmocka_unit_test(labels_go_to_the_scope_where_wanted),
        cmocka_unit_test(what_is_configured_wins),
        cmocka_unit_test(limits_name_what_was_measured),
        cmocka_unit_test(broken_names_are_repaired),
        cmocka_unit_test(types_have_names),
        cmocka_unit_test(types_of_any_length_take_no_time),
        cmocka_unit_test(attributes_become_labels),
        cmocka_unit_test(profiles_have_pyroscopes_names),
        cmocka_unit_test(what_pyroscope_said_goes_back),
        cmocka_unit_test(a_long_list_of_derived_attributes_costs_nothing),
        cmocka_unit_test(what_collides_is_dropped_and_counted),
        cmocka_unit_test(labels_are_chosen_and_renamed),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(the_primary_profile_is_found),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(any_batch_gives_labels_that_servers_take),
        cmocka_unit_test(push_to_otlp_to_push_keeps_every_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
