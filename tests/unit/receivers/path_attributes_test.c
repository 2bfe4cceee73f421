// SPDX-License-Identifier: Apache-2.0
// Attributes from paths: the groups alone, and on the way of a file.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "receivers/profile_file.h"
#include "tests/support/fake_env.h"
#include "tests/support/pprof_bytes.h"

#include <stdlib.h>
#include <string.h>

static void good_and_bad_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *expected; // NULL = good
    } cases[] = {
        {"/(?P<service>[^/]+)/", NULL},
        {"(?:x)(?<a>b)", NULL},
        {"", "has no group: name what is to be taken, as in (?P<service>[^/]+)"},
        {"[^/]+", "has no group: name what is to be taken, as in (?P<service>[^/]+)"},
        {"(?P<a>b)(c)", "group 2 has no name: write (?P<name>...), or (?:...) for one that is not to be taken"},
        {"(", "\"(\" is no regular expression: missing ): ("},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct path_attributes *p;
        struct err e = {0};
        enum err_code rc = path_attributes_create(cases[i].pattern, &p, &e);
        assert_int_equal(rc, cases[i].expected == NULL ? ERR_OK : ERR_INVALID);
        assert_int_equal(p != NULL, rc == ERR_OK);
        if (rc != ERR_OK)
            assert_string_equal(e.text, cases[i].expected);
        path_attributes_destroy(&p);
        assert_null(p);
    }
}

static const struct key_value own[] = {
    {{(const uint8_t *)"service.name", 12}, {.kind = VALUE_STRING, .bytes = {(const uint8_t *)"own", 3}}},
    {{(const uint8_t *)"zone", 4}, {.kind = VALUE_INT, .integer = 1}}};

static char *merged(const char *pattern, const char *path, bool *found)
{
    struct path_attributes *p;
    struct err e;
    struct arena arena;
    struct buf out;
    const struct key_value *list;
    uint32_t count;
    arena_init(&arena, 0);
    buf_init(&out, 1 << 16);
    assert_int_equal(path_attributes_create(pattern, &p, &e), ERR_OK);
    assert_true(path_attributes_merge(p, path, own, COUNT_OF(own), &arena, &list, &count, found));
    struct value v = {.kind = VALUE_KVLIST, .count = count, .entries = list};
    value_print(&out, &v);
    buf_add_byte(&out, '\0');
    assert_true(buf_ok(&out));
    arena_fini(&arena);
    path_attributes_destroy(&p);
    return (char *)buf_take(&out, &(size_t){0});
}

#define OWN "{\"service.name\":\"own\",\"zone\":1"

static void groups_become_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *path, *expected; // NULL = not found
    } cases[] = {
        {"dumps/(?P<service>[^/]+)/", "/var/dumps/cart/x.pb", "{\"service.name\":\"cart\",\"zone\":1}"},
        {"(?P<namespace>[^/]+)/(?P<pod>[^/]+)/[^/]*$", "/d/shop/cart-7/x.pb",
         OWN ",\"k8s.namespace.name\":\"shop\",\"k8s.pod.name\":\"cart-7\"}"},
        {"(?P<my_thing>x)", "/x", OWN ",\"my_thing\":\"x\"}"},
        {"(?P<zone>x)", "/x", "{\"service.name\":\"own\",\"zone\":\"x\"}"},
        {"a(?P<pod>b)?(?P<host>)", "/a", OWN "}"}, // no part, empty
        {"a/(?P<service>[^/]+)|b/(?P<service_name>[^/]+)", "/b/c", "{\"service.name\":\"c\",\"zone\":1}"},
        {"(?P<service>a)(?P<service_name>b)", "/ab", "{\"service.name\":\"b\",\"zone\":1}"}, // one key once
        {"/(?P<x>[^/]+)$", "/\xc3\xa9\n", OWN ",\"x\":\"\xc3\xa9\\n\"}"},
        {"/(?P<x>[^/]+)$", "/a\xe0\x80\x80", // an overlong form, repaired
         OWN ",\"x\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"}"},
        {"^dumps/(?P<service>.*)", "/var/dumps/cart", NULL},
        {"(?P<x>.)", "", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        bool found;
        char *text = merged(cases[i].pattern, cases[i].path, &found);
        assert_int_equal(found, cases[i].expected != NULL);
        assert_string_equal(text, cases[i].expected != NULL ? cases[i].expected : OWN "}");
        free(text);
    }
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct path_attributes *p;
    struct err e;
    assert_int_equal(path_attributes_create("(?P<a>.)(?P<b>.)", &p, &e), ERR_OK);
    bool ok = false;
    for (size_t n = 1; !ok; n++) {
        const struct key_value *list;
        struct arena arena;
        uint32_t count;
        bool found;
        assert_in_range(n, 1, 10);
        arena_init(&arena, 0);
        mem_fail_from(n);
        ok = path_attributes_merge(p, "ab", own, COUNT_OF(own), &arena, &list, &count, &found);
        mem_fail_from(0);
        arena_fini(&arena);
        assert_int_equal(ok, n > 1); // one chunk holds it all
    }
    path_attributes_destroy(&p);
}

// --- a file on its way ---

struct rig {
    struct fake_env env;
    struct instance instance;
    struct receiver receiver;
    struct consumer consumer;
    struct batch *batch;
    bool done;
    struct known_files *known;
};

static void take(struct consumer *self, struct delivery d)
{
    struct rig *r = CONTAINER_OF(self, struct rig, consumer);
    r->batch = batch_ref(d.batch);
    delivery_end(&d, NULL);
}

static void on_outcome(struct profile_file *f)
{
    ((struct rig *)f->owner)->done = true;
}

static bool is_done(void *arg)
{
    return ((struct rig *)arg)->done;
}

// The service.name that the file got, NULL if it was not sent.
static const char *sent_as(struct rig *r, const char *pattern, const char *path, bool *unmatched, struct known_key *key)
{
    static const char *const services[] = {"own", "a", "b"};
    struct profile_file_options options = {.limits = decode_default_limits, .format = &pprof_format};
    struct path_attributes *match = NULL;
    struct pprof_bytes p;
    struct err e;
    pprof_bytes_init(&p);
    pprof_bytes_type(&p, "cpu", "nanoseconds");
    pprof_bytes_number(&p, 9, 1700000000123456789u);
    if (pattern != NULL)
        assert_int_equal(path_attributes_create(pattern, &match, &e), ERR_OK);
    options.match = match;
    struct profile_file f = {.receiver = &r->receiver,
                             .options = &options,
                             .known = r->known,
                             .path = path,
                             .content = buf_bytes(&p.out),
                             .identity.size = p.out.len,
                             .on_outcome = on_outcome,
                             .owner = r};
    r->done = false;
    assert_true(profile_file_submit(&f));
    fake_env_run_until(&r->env, is_done, r);
    *unmatched = f.unmatched;
    *key = f.key;
    const char *name = NULL;
    if (f.outcome == FILE_SENT) {
        const struct resource *resource = r->batch->resources[0];
        const struct key_value *found =
            key_values_find(resource->attributes, resource->attribute_count, BYTES_LITERAL("service.name"));
        assert_non_null(found);
        for (size_t i = 0; i < COUNT_OF(services); i++)
            if (bytes_equal_text(found->value.bytes, services[i]))
                name = services[i];
        known_files_release(r->known, &f.key); // the next one with this key is new again
    } else {
        assert_int_equal(f.outcome, FILE_IN_FLIGHT);
    }
    batch_unref(&r->batch);
    pprof_bytes_fini(&p);
    path_attributes_destroy(&match);
    return name;
}

static void a_file_gets_them_and_is_known_by_them(void **state)
{
    (void)state;
    struct rig *r = MEM_NEW(struct rig);
    struct err e;
    struct known_key keys[4];
    bool unmatched;
    fake_env_init(&r->env, 1);
    static const struct metric_family family = {"count", "Samples.", METRIC_COUNTER};
    for (size_t i = 0; i < COUNT_OF(r->instance.outcomes[0]); i++)
        r->instance.outcomes[0][i] = metrics_series(r->env.env.metrics, &family, NULL, 0);
    r->consumer.take = take;
    r->receiver = (struct receiver){.component = {.loop = &r->env.loop, .env = &r->env.env, .instance = &r->instance},
                                    .next = &r->consumer,
                                    .resource_attributes = own,
                                    .resource_attribute_count = COUNT_OF(own)};
    assert_int_equal(known_files_create(NULL, "test", 0, &r->known, &e), ERR_OK);
    assert_string_equal(sent_as(r, NULL, "/d/a/x.pb", &unmatched, &keys[0]), "own");
    assert_false(unmatched);
    assert_string_equal(sent_as(r, "/d/(?P<service>[^/]+)/", "/d/a/x.pb", &unmatched, &keys[1]), "a");
    assert_false(unmatched);
    assert_string_equal(sent_as(r, "/d/(?P<service>[^/]+)/", "/d/b/x.pb", &unmatched, &keys[2]), "b");
    assert_string_equal(sent_as(r, "/e/(?P<service>[^/]+)/", "/d/b/x.pb", &unmatched, &keys[3]), "own");
    assert_true(unmatched);
    assert_memory_not_equal(&keys[0], &keys[1], sizeof keys[0]);
    assert_memory_not_equal(&keys[1], &keys[2], sizeof keys[0]);
    assert_memory_equal(&keys[0], &keys[3], sizeof keys[0]);
    // the same from another path is the same profile
    assert_int_equal(known_files_claim(r->known, &keys[1]), KNOWN_CLAIMED);
    assert_null(sent_as(r, "/(?P<service>[^/]+)/[^/]*$", "/elsewhere/a/y.pb", &unmatched, &keys[2]));
    assert_memory_equal(&keys[1], &keys[2], sizeof keys[0]);
    known_files_destroy(&r->known);
    fake_env_fini(&r->env);
    free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_and_bad_patterns),
        cmocka_unit_test(groups_become_attributes),
        cmocka_unit_test(memory_may_be_out),
        cmocka_unit_test(a_file_gets_them_and_is_known_by_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
