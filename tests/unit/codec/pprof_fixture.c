// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/codec/pprof_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "profile/validate.h"

struct batch *decode_good_with(struct bytes data, const struct decode_options *o, struct decode_report *r)
{
    struct batch *b = NULL;
    struct err e = {0};
    enum err_code code = pprof_decode(data, o, &b, r, &e);
    if (code != ERR_OK)
        fail_msg("%s", e.text);
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    return b;
}

struct batch *decode_good(struct pprof_bytes *p)
{
    return decode_good_with(buf_bytes(&p->out), NULL, NULL);
}

void refuse_with(struct bytes data, const struct decode_options *o, enum err_code want, const char *text)
{
    struct batch *b = NULL;
    struct err e = {0};
    struct decode_report r;
    enum err_code code = pprof_decode(data, o, &b, &r, &e);
    if (code != want || strstr(e.text, text) == NULL)
        fail_msg("wanted %s \"%s\", got %s \"%s\"", err_code_name(want), text, err_code_name(code), e.text);
    assert_null(b);
    assert_int_equal(e.code, want);
}

void refuse(struct pprof_bytes *p, const char *text)
{
    refuse_with(buf_bytes(&p->out), NULL, ERR_INVALID, text);
    pprof_bytes_fini(p);
}

const struct scope *scope_of(const struct batch *b)
{
    return b->resources[0]->scopes[0];
}

const struct profile *profile_of(const struct batch *b, uint32_t i)
{
    return &scope_of(b)->profiles[i];
}

void assert_string(const struct batch *b, uint32_t id, const char *want)
{
    assert_true(bytes_equal_text(b->dictionary->strings[id], want));
}

const struct batch_attribute *attribute(const struct batch *b, uint32_t set, const char *key)
{
    const struct dictionary *d = b->dictionary;
    for (uint32_t i = 0; i < d->attribute_sets[set].count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[d->attribute_sets[set].start + i]];
        if (bytes_equal_text(d->strings[a->key], key))
            return a;
    }
    return NULL;
}

void assert_text_attribute(const struct batch *b, uint32_t set, const char *key, const char *want)
{
    const struct batch_attribute *a = attribute(b, set, key);
    assert_non_null(a);
    assert_int_equal(a->value.kind, VALUE_STRING);
    assert_true(bytes_equal_text(a->value.bytes, want));
}

uint32_t set_of(const struct batch *b, uint32_t sample)
{
    const struct columns *c = profile_of(b, 0)->columns;
    return c->attribute_sets == NULL ? 0 : c->attribute_sets[sample];
}

uint32_t link_of(const struct batch *b, uint32_t sample)
{
    const struct columns *c = profile_of(b, 0)->columns;
    return c->links == NULL ? 0 : c->links[sample];
}

void begin(struct pprof_bytes *p)
{
    pprof_bytes_init(p);
    pprof_bytes_type(p, "cpu", "ns");
    pprof_bytes_function(p, 1, "main");
    pprof_bytes_location(p, 1, 0, 16, 1);
}

void add_sample(struct pprof_bytes *p, uint64_t location, const struct test_label *labels, uint32_t count)
{
    const int64_t value = 5;
    pprof_bytes_sample(p, &location, 1, &value, 1, labels, count);
}
