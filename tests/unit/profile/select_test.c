// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/merge.h"

static bool keep_all(void *arg, const struct batch *b, struct sample_position at)
{
    (void)b;
    (void)at;
    ++*(uint64_t *)arg;
    return true;
}

static bool keep_none(void *arg, const struct batch *b, struct sample_position at)
{
    (void)arg;
    (void)b;
    (void)at;
    return false;
}

struct half {
    uint64_t seed;
    bool odd;         // the other half
    bool same_in_all; // one decision for all profiles that share columns
};

static bool keep_half(void *arg, const struct batch *b, struct sample_position at)
{
    const struct half *h = arg;
    struct test_random r = {h->seed + at.sample * 31u};
    if (h->same_in_all)
        r.state += (uintptr_t)b->resources[at.resource]->scopes[at.scope]->profiles[at.profile].columns;
    else
        r.state += at.resource * 1000003u + at.scope * 10007u + at.profile * 101u;
    return (test_random_next(&r) & 1) == h->odd;
}

static struct batch *selected(struct batch *b, bool (*keep)(void *, const struct batch *, struct sample_position),
                              void *arg)
{
    struct err e = {0};
    struct batch *out;
    if (batch_select(b, keep, arg, &out, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return out;
}

static void keeping_all_gives_the_batch_itself(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct batch *b = random_batch(seed, NULL);
        uint64_t calls = 0;
        struct batch *out = selected(b, keep_all, &calls);
        assert_ptr_equal(out, b);
        assert_int_equal(calls, b->sample_count);
        batch_unref(&out);
        batch_unref(&b);
    }
}

static uint64_t profiles_without_samples(const struct batch *b)
{
    uint64_t count = 0;
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            for (uint32_t p = 0; p < b->resources[r]->scopes[s]->profile_count; p++)
                count += b->resources[r]->scopes[s]->profiles[p].columns->sample_count == 0;
        }
    }
    return count;
}

static void keeping_none_leaves_what_was_empty(void **state)
{
    (void)state;
    bool vanished = false;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct batch *b = random_batch(seed, NULL), *out = selected(b, keep_none, NULL);
        if (out == NULL) {
            assert_int_equal(profiles_without_samples(b), 0);
            vanished = true;
        } else {
            assert_valid(out, seed);
            assert_int_equal(out->sample_count, 0);
            assert_int_equal(out->profile_count, profiles_without_samples(b));
        }
        batch_unref(&out);
        batch_unref(&b);
    }
    assert_true(vanished);
}

// The same batch without profiles that have no samples: those stay in both halves of a selection.
static char *lines_with_samples(struct batch *const *batches, size_t count)
{
    char *lines = batch_lines(batches, count), *to = lines;
    for (char *line = lines, *next; *line != 0; line = next) {
        next = strchr(line, '\n') + 1;
        size_t len = (size_t)(next - line);
        if (len > 12 && memcmp(next - 12, " no samples\n", 12) == 0)
            continue;
        memmove(to, line, len);
        to += len;
    }
    *to = 0;
    return lines;
}

static void two_halves_are_the_whole(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *b = random_batch(seed, NULL);
        struct half half = {.seed = seed, .same_in_all = seed % 2 == 0}, other = half;
        other.odd = true;
        struct batch *parts[] = {selected(b, keep_half, &half), selected(b, keep_half, &other)};
        struct batch *there[2];
        size_t count = 0;
        for (size_t i = 0; i < 2; i++) {
            if (parts[i] == NULL)
                continue;
            assert_valid(parts[i], seed);
            assert_ptr_equal(parts[i]->dictionary, b->dictionary);
            there[count++] = parts[i];
        }
        assert_same_text(lines_with_samples(there, count), lines_with_samples(&b, 1), seed);
        batch_unref(&parts[0]);
        batch_unref(&parts[1]);
        batch_unref(&b);
    }
}

// One scope with profiles that share columns.
static struct batch *batch_of_sample_types(void)
{
    struct builder *b = builder_create(0);
    builder_resource(b, NULL, 0, 0, (struct bytes){NULL, 0});
    builder_scope(b, (struct bytes){NULL, 0}, (struct bytes){NULL, 0}, NULL, 0, 0, (struct bytes){NULL, 0});
    struct sample_writer w;
    sample_writer_init(&w, b);
    for (uint32_t i = 0; i < 20; i++)
        sample_writer_add(&w, 0, 0, 0);
    struct columns *columns = sample_writer_take(&w);
    for (uint32_t t = 0; t < 3; t++) {
        struct observation_writer o;
        observation_writer_init(&o, b);
        for (uint32_t i = 0; i < 20; i++)
            observation_writer_add_value(&o, i + 100 * t);
        struct profile p = {.columns = columns_ref(columns),
                            .observations = observation_writer_take(&o),
                            .original_payload = BYTES_LITERAL("x"),
                            .original_payload_format = BYTES_LITERAL("pprof")};
        builder_profile(b, &p);
    }
    columns_unref(&columns);
    return finish(b);
}

static bool keep_by_type(void *arg, const struct batch *b, struct sample_position at)
{
    (void)arg;
    (void)b;
    return at.profile == 2 ? at.sample >= 10 : at.sample < 10;
}

static void equal_decisions_share_columns(void **state)
{
    (void)state;
    struct batch *b = batch_of_sample_types(), *out = selected(b, keep_by_type, NULL);
    assert_valid(out, 0);
    const struct profile *p = out->resources[0]->scopes[0]->profiles;
    assert_int_equal(out->sample_count, 30);
    assert_ptr_equal(p[0].columns, p[1].columns);
    assert_ptr_not_equal(p[0].columns, p[2].columns);
    assert_int_equal(p[1].observations->values[0], 100);
    assert_int_equal(p[2].observations->values[0], 210);
    assert_int_equal(p[0].original_payload.len, 0);
    batch_unref(&out);
    batch_unref(&b);
}

static bool keep_first_resource(void *arg, const struct batch *b, struct sample_position at)
{
    (void)arg;
    (void)b;
    return at.resource == 0 || at.sample > 0;
}

static void whole_parts_are_shared(void **state)
{
    (void)state;
    struct batch *b = batch_of_sample_types();
    struct batch *in[] = {b, b};
    struct batch *both;
    assert_int_equal(batch_merge(in, 2, &both, NULL), ERR_OK);
    struct batch *out = selected(both, keep_first_resource, NULL);
    assert_ptr_equal(out->resources[0], both->resources[0]);
    assert_ptr_not_equal(out->resources[1], both->resources[1]);
    assert_int_equal(out->sample_count, 60 + 57);
    batch_unref(&out);
    batch_unref(&both);
    batch_unref(&b);
}

static void resources_are_selected_by_number(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct batch *b = random_batch(seed, NULL), *parts[8];
        for (uint32_t r = 0; r < b->resource_count; r++) {
            assert_int_equal(batch_select_resources(b, r, 1, &parts[r], NULL), ERR_OK);
            assert_valid(parts[r], seed);
            assert_ptr_equal(parts[r]->resources[0], b->resources[r]);
        }
        assert_same_samples(parts, b->resource_count, &b, 1, seed);
        struct batch *all;
        assert_int_equal(batch_select_resources(b, 0, b->resource_count, &all, NULL), ERR_OK);
        assert_ptr_equal(all, b);
        batch_unref(&all);
        for (uint32_t r = 0; r < b->resource_count; r++)
            batch_unref(&parts[r]);
        batch_unref(&b);
    }
}

static bool select_half(void *arg, struct err *e)
{
    struct half half = {.seed = 1};
    struct batch *out;
    bool ok = batch_select(arg, keep_half, &half, &out, e) == ERR_OK;
    batch_unref(&out);
    return ok;
}

static bool select_one_resource(void *arg, struct err *e)
{
    struct batch *out;
    bool ok = batch_select_resources(arg, 0, 0, &out, e) == ERR_OK;
    batch_unref(&out);
    return ok;
}

static void selecting_survives_failing_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 10; seed++) {
        struct batch *b = random_batch(seed, NULL);
        run_with_failing_memory(select_half, b);
        run_with_failing_memory(select_one_resource, b);
        batch_unref(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeping_all_gives_the_batch_itself),
        cmocka_unit_test(keeping_none_leaves_what_was_empty),
        cmocka_unit_test(two_halves_are_the_whole),
        cmocka_unit_test(equal_decisions_share_columns),
        cmocka_unit_test(whole_parts_are_shared),
        cmocka_unit_test(resources_are_selected_by_number),
        cmocka_unit_test(selecting_survives_failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
