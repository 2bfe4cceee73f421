// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/profile/fixture.h"

#include "profile/edit.h"
#include "profile/merge.h"
#include "profile/prune.h"

// Answers depend on nothing but the question, so the test asks again.
struct asker {
    uint64_t seed;
    uint32_t percent_changed;
    uint64_t calls;
    struct unit_attribute out[80];
    char room[32];
};

// Not base/hash.h: it is seeded anew in each process, and a failing seed is to fail again.
static uint64_t question_hash(const struct asker *a, uint32_t resource, const struct unit_attribute *list,
                              uint32_t count)
{
    uint64_t sum = a->seed * 1000 + resource;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t h = 14695981039346656037u + (uint64_t)list[i].value.kind;
        for (size_t k = 0; k < list[i].key.len; k++)
            h = (h ^ list[i].key.data[k]) * 1099511628211u;
        sum += h;
    }
    return sum;
}

static uint32_t with_one_more(struct asker *a, uint32_t count, uint32_t number)
{
    snprintf(a->room, sizeof a->room, "n%u", number);
    struct bytes text = bytes_from_text(a->room);
    uint32_t at = 0;
    while (at < count && !bytes_equal(a->out[at].key, text))
        at++;
    a->out[at] = (struct unit_attribute){text, BYTES_LITERAL("new unit"), value_string(text)};
    return at == count ? count + 1 : count;
}

// Nothing, everything gone, the first gone, the last replaced, one more, a known key on another value.
static enum err_code answer(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                            const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    (void)e;
    struct asker *a = arg;
    struct test_random r = {question_hash(a, resource, list, count)};
    a->calls++;
    *out = list;
    *count_out = count;
    if (!test_random_chance(&r, a->percent_changed))
        return ERR_OK;
    uint32_t kind = test_random_below(&r, 4), number = test_random_below(&r, 12);
    for (uint32_t i = 0; i < count; i++)
        a->out[i] = list[i];
    *out = a->out;
    if (kind == 0) {
        *count_out = 0;
    } else if (kind == 1 && count > 0) {
        a->out[0] = list[count - 1];
        *count_out = count - 1;
    } else if (kind == 2 && count > 0) {
        a->out[count - 1].value = value_int((int64_t)number);
    } else {
        *count_out = with_one_more(a, count, number);
    }
    return ERR_OK;
}

static struct batch *edited(struct batch *old, enum attribute_level level, struct asker *a)
{
    struct err e = {0};
    struct batch *new = batch_ref(old);
    struct attribute_sets_change change = {.level = level, .change = answer, .arg = a};
    if (batch_change_attribute_sets(&new, &change, &e) != ERR_OK)
        fail_msg("%s", e.text);
    return new;
}

static uint32_t list_set(const struct dictionary *d, uint32_t set, struct unit_attribute *out)
{
    struct batch_range range = d->attribute_sets[set];
    for (uint32_t i = 0; i < range.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[range.start + i]];
        out[i] = (struct unit_attribute){d->strings[a->key], d->strings[a->unit], a->value};
    }
    return range.count;
}

static bool same_attribute(const struct unit_attribute *a, const struct unit_attribute *b)
{
    return bytes_equal(a->key, b->key) && bytes_equal(a->unit, b->unit) && value_equal(&a->value, &b->value);
}

static void assert_same_lists(const struct unit_attribute *a, uint32_t a_count, const struct unit_attribute *b,
                              uint32_t b_count)
{
    assert_int_equal(a_count, b_count);
    for (uint32_t i = 0; i < a_count; i++) {
        uint32_t k = 0;
        while (k < b_count && !same_attribute(&a[i], &b[k]))
            k++;
        assert_true(k < b_count);
    }
}

struct pair {
    const struct batch *old, *new;
    struct asker *asker; // NULL: sets must say the same
    uint32_t resource;
};

static void compare_sets(const struct pair *p, uint32_t old_set, uint32_t new_set)
{
    struct unit_attribute before[80], after[80];
    const struct unit_attribute *want = before;
    uint32_t count = list_set(p->old->dictionary, old_set, before), want_count = count;
    if (p->asker != NULL)
        assert_int_equal(answer(p->asker, p->resource, before, count, &want, &want_count, NULL), ERR_OK);
    uint32_t new_count = list_set(p->new->dictionary, new_set, after);
    assert_same_lists(want, want_count, after, new_count);
    if (want == before)
        assert_int_equal(old_set, new_set);
}

static uint32_t set_of(const struct columns *c, uint32_t sample)
{
    return c->attribute_sets == NULL ? 0 : c->attribute_sets[sample];
}

static void compare_columns(const struct pair *p, const struct columns *old, const struct columns *new)
{
    assert_int_equal(old->sample_count, new->sample_count);
    bool changed = false;
    for (uint32_t i = 0; i < old->sample_count; i++) {
        compare_sets(p, set_of(old, i), set_of(new, i));
        assert_int_equal(old->stacks[i], new->stacks[i]);
        assert_int_equal(old->links == NULL ? 0 : old->links[i], new->links == NULL ? 0 : new->links[i]);
        changed |= set_of(old, i) != set_of(new, i);
    }
    assert_int_equal(old != new, changed);
}

static void compare_profiles(struct pair p, enum attribute_level level, const struct scope *old,
                             const struct scope *new)
{
    struct asker *asker = p.asker;
    for (uint32_t i = 0; i < old->profile_count; i++) {
        const struct profile *a = &old->profiles[i], *b = &new->profiles[i];
        p.asker = level == LEVEL_PROFILE ? asker : NULL;
        compare_sets(&p, a->attribute_set, b->attribute_set);
        p.asker = level == LEVEL_SAMPLE ? asker : NULL;
        compare_columns(&p, a->columns, b->columns);
        assert_ptr_equal(a->observations, b->observations);
        bool same = a->attribute_set == b->attribute_set && a->columns == b->columns;
        assert_true(bytes_equal(b->original_payload, same ? a->original_payload : (struct bytes){NULL, 0}));
        if (i > 0)
            assert_int_equal(b->columns == b[-1].columns, a->columns == a[-1].columns);
    }
}

static void assert_unique_items(const struct dictionary *d)
{
    for (uint32_t i = 0; i < d->attribute_count; i++) {
        for (uint32_t k = 0; k < i; k++)
            assert_false(d->attributes[i].key == d->attributes[k].key &&
                         d->attributes[i].unit == d->attributes[k].unit &&
                         value_equal(&d->attributes[i].value, &d->attributes[k].value));
    }
}

static void assert_shared_tables(const struct dictionary *old, const struct dictionary *new)
{
    const struct dictionary *root = old->base == NULL ? old : old->base;
    assert_ptr_equal(new->base, root);
    assert_null(root->base);
    assert_ptr_equal(new->stacks, root->stacks);
    assert_ptr_equal(new->stack_bytes, root->stack_bytes);
    assert_ptr_equal(new->locations, root->locations);
    assert_ptr_equal(new->lines, root->lines);
    assert_ptr_equal(new->functions, root->functions);
    assert_ptr_equal(new->mappings, root->mappings);
    assert_ptr_equal(new->links, root->links);
    assert_int_equal(new->strings == root->strings, new->string_count == root->string_count);
    assert_int_equal(new->attributes == root->attributes, new->attribute_count == root->attribute_count);
    assert_int_equal(new->attribute_sets == root->attribute_sets,
                     new->attribute_set_count == root->attribute_set_count);
    for (uint32_t i = 0; i < root->string_count; i++)
        assert_ptr_equal(new->strings[i].data, root->strings[i].data);
    for (uint32_t i = 0; i < old->attribute_set_count; i++)
        assert_int_equal(new->attribute_sets[i].count, old->attribute_sets[i].count);
}

static uint64_t pairs_in_use(const struct batch *b, enum attribute_level level)
{
    uint32_t set_count = b->dictionary->attribute_set_count;
    bool *used = calloc(b->resource_count * (size_t)set_count, sizeof *used);
    assert_non_null(used);
    for (uint32_t r = 0; r < b->resource_count; r++) {
        bool *row = used + r * (size_t)set_count;
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            const struct scope *scope = b->resources[r]->scopes[s];
            for (uint32_t p = 0; p < scope->profile_count; p++) {
                const struct columns *c = scope->profiles[p].columns;
                if (level == LEVEL_PROFILE)
                    row[scope->profiles[p].attribute_set] = true;
                for (uint32_t i = 0; level == LEVEL_SAMPLE && i < c->sample_count; i++)
                    row[set_of(c, i)] = true;
            }
        }
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < b->resource_count * (size_t)set_count; i++)
        sum += used[i];
    free(used);
    return sum;
}

static void compare_batches(struct batch *old, struct batch *new, enum attribute_level level, struct asker *a)
{
    struct pair p = {.old = old, .new = new, .asker = a};
    for (p.resource = 0; p.resource < old->resource_count; p.resource++) {
        const struct resource *before = old->resources[p.resource], *after = new->resources[p.resource];
        for (uint32_t s = 0; s < before->scope_count; s++)
            compare_profiles(p, level, before->scopes[s], after->scopes[s]);
    }
}

static void sets_become_what_change_says(void **state)
{
    (void)state;
    uint32_t changed = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        enum attribute_level level = seed % 2 == 0 ? LEVEL_PROFILE : LEVEL_SAMPLE;
        struct asker a = {.seed = seed, .percent_changed = seed % 5 == 0 ? 100 : 30};
        struct batch *old = random_batch(seed, NULL);
        char *before = whole_text(old);
        struct batch *new = edited(old, level, &a);
        assert_int_equal(a.calls, pairs_in_use(old, level));
        assert_valid(new, seed);
        compare_batches(old, new, level, &a);
        assert_same_text(before, whole_text(old), seed);
        if (new != old) {
            changed++;
            assert_unique_items(new->dictionary);
            assert_shared_tables(old->dictionary, new->dictionary);
        }
        char *text = whole_text(new);
        batch_unref(&old); // the new one holds what it shares
        assert_same_text(text, whole_text(new), seed);
        batch_unref(&new);
    }
    assert_true(changed > 12);
}

static void without_a_change_the_batch_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct asker a = {.seed = seed};
        struct batch *old = random_batch(seed, NULL);
        struct batch *new = edited(old, seed % 2 == 0 ? LEVEL_PROFILE : LEVEL_SAMPLE, &a);
        assert_ptr_equal(old, new);
        batch_unref(&new);
        batch_unref(&old);
    }
}

// Several processors behind each other: one base, and what they added stays.
static void edits_follow_each_other(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct batch *b = random_batch(seed, NULL);
        for (uint64_t round = 0; round < 6; round++) {
            enum attribute_level level = (seed + round) % 2 == 0 ? LEVEL_PROFILE : LEVEL_SAMPLE;
            struct asker a = {.seed = seed * 100 + round, .percent_changed = 40};
            struct batch *old = b;
            b = edited(old, level, &a);
            assert_valid(b, seed);
            compare_batches(old, b, level, &a);
            if (b != old)
                assert_shared_tables(old->dictionary, b->dictionary);
            batch_unref(&old);
        }
        assert_unique_items(b->dictionary);
        batch_unref(&b);
    }
}

static enum err_code mark_all(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                              const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    (void)e;
    (void)resource;
    (void)list;
    (void)count;
    *out = arg;
    *count_out = 1;
    return ERR_OK;
}

static void equal_answers_are_one_set(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        struct unit_attribute mark = {BYTES_LITERAL("mark"), {NULL, 0}, value_bool(true)};
        struct attribute_sets_change change = {.level = LEVEL_PROFILE, .change = mark_all, .arg = &mark};
        assert_int_equal(batch_change_attribute_sets(&new, &change, NULL), ERR_OK);
        if (old->profile_count > 0) {
            assert_int_equal(new->dictionary->attribute_set_count, old->dictionary->attribute_set_count + 1);
            assert_int_equal(new->dictionary->attribute_count, old->dictionary->attribute_count + 1);
            assert_int_equal(new->dictionary->string_count, old->dictionary->string_count + 1);
        }
        struct batch *again = batch_ref(new);
        assert_int_equal(batch_change_attribute_sets(&again, &change, NULL), ERR_OK);
        assert_ptr_equal(again, new);
        batch_unref(&again);
        batch_unref(&new);
        batch_unref(&old);
    }
}

struct by_scope {
    struct unit_attribute mark;
    uint32_t resource, scope; // asked for last
    uint32_t asked;
};

static bool odd_scopes(void *arg, uint32_t resource, uint32_t scope)
{
    struct by_scope *s = arg;
    s->resource = resource;
    s->scope = scope;
    s->asked++;
    return (resource + scope) % 2 == 1;
}

static enum err_code mark_scope(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                                const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    struct by_scope *s = arg;
    assert_int_equal(resource, s->resource);
    s->mark = (struct unit_attribute){BYTES_LITERAL("scope"), {NULL, 0}, value_int(s->scope)};
    return mark_all(&s->mark, resource, list, count, out, count_out, e);
}

static void compare_marked_scope(const struct batch *b, const struct scope *old, const struct scope *new,
                                 uint32_t number)
{
    for (uint32_t p = 0; p < new->profile_count; p++) {
        const struct columns *c = new->profiles[p].columns;
        for (uint32_t i = 0; i < c->sample_count; i++) {
            struct unit_attribute list[80];
            assert_int_equal(list_set(b->dictionary, set_of(c, i), list), 1);
            assert_int_equal(list[0].value.integer, number);
        }
        assert_int_equal(c != old->profiles[p].columns, c->sample_count > 0);
    }
}

static void scopes_may_be_asked_for(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        struct by_scope s = {0};
        struct attribute_sets_change change = {
            .level = LEVEL_SAMPLE, .change = mark_scope, .arg = &s, .scope = odd_scopes};
        assert_int_equal(batch_change_attribute_sets(&new, &change, NULL), ERR_OK);
        assert_valid(new, seed);
        uint32_t scopes = 0;
        for (uint32_t r = 0; r < old->resource_count; r++) {
            for (uint32_t i = 0; i < old->resources[r]->scope_count; i++) {
                struct scope *was = old->resources[r]->scopes[i], *is = new->resources[r]->scopes[i];
                scopes += was->profile_count > 0;
                if ((r + i) % 2 == 1)
                    compare_marked_scope(new, was, is, i);
                else
                    assert_ptr_equal(was, is);
            }
        }
        assert_int_equal(s.asked, scopes);
        batch_unref(&new);
        batch_unref(&old);
    }
}

static void merging_and_pruning_take_changed_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct asker a = {.seed = seed, .percent_changed = 60};
        struct batch *old = random_batch(seed, NULL), *new = edited(old, LEVEL_SAMPLE, &a), *both;
        struct batch *list[] = {old, new};
        struct prune p;
        assert_int_equal(batch_merge(list, 2, &both, NULL), ERR_OK);
        assert_valid(both, seed);
        assert_same_samples(list, 2, &both, 1, seed);
        assert_int_equal(prune_init(&p, new, NULL), ERR_OK);
        prune_fini(&p);
        batch_unref(&both);
        batch_unref(&new);
        batch_unref(&old);
    }
}

static void memory_counts_base_and_copies(void **state)
{
    (void)state;
    struct asker a = {.seed = 3, .percent_changed = 100};
    struct batch *old = random_batch(3, NULL), *new = edited(old, LEVEL_SAMPLE, &a);
    assert_ptr_not_equal(old, new);
    const struct dictionary *base = old->dictionary, *d = new->dictionary;
    size_t tables = d->attribute_count * sizeof *d->attributes + d->attribute_set_count * sizeof *d->attribute_sets +
                    d->string_count * sizeof *d->strings + d->set_attribute_count * sizeof *d->set_attributes;
    assert_true(d->bytes >= base->bytes + sizeof *d + d->arena.total_bytes + tables);
    assert_true(d->bytes <= base->bytes + sizeof *d + d->arena.total_bytes + 2 * tables + 4096);
    assert_true(batch_memory_bytes(new) > batch_memory_bytes(old));
    size_t first = d->bytes;
    for (int i = 0; i < 20; i++) { // the same texts again: nothing piles up
        struct asker other = {.seed = 3 + (uint64_t)i, .percent_changed = 100};
        struct batch *next = edited(new, LEVEL_PROFILE, &other);
        batch_unref(&new);
        new = next;
    }
    assert_true(new->dictionary->bytes < first + 64 * 1024);
    batch_unref(&old);
    batch_unref(&new);
}

static void scope_attributes_change_alone(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct batch *old = random_batch(seed, NULL), *new = batch_ref(old);
        char *before = whole_text(old), name[] = "value";
        uint32_t r = 0;
        while (r < old->resource_count && old->resources[r]->scope_count == 0)
            r++;
        if (r < old->resource_count) {
            uint32_t last = old->resources[r]->scope_count - 1;
            const struct attribute_put put = {.change.of_scopes = true,
                                              .resource = r,
                                              .scope = last,
                                              .attribute = {BYTES_LITERAL("key"), value_string(bytes_from_text(name))}};
            assert_int_equal(put_attribute(&new, put, NULL), ERR_OK);
            name[0] = 'X';
            assert_valid(new, seed);
            assert_ptr_equal(new->dictionary, old->dictionary);
            const struct scope *was = old->resources[r]->scopes[last], *is = new->resources[r]->scopes[last];
            for (uint32_t s = 0; s < last; s++)
                assert_ptr_equal(new->resources[r]->scopes[s], old->resources[r]->scopes[s]);
            assert_int_equal(is->attribute_count, 1);
            assert_true(bytes_equal_text(is->attributes[0].value.bytes, "value"));
            assert_true(bytes_equal(is->name, was->name));
            assert_int_equal(is->profile_count, was->profile_count);
            for (uint32_t p = 0; p < is->profile_count; p++) {
                assert_ptr_equal(is->profiles[p].columns, was->profiles[p].columns);
                assert_true(bytes_equal(is->profiles[p].original_payload, was->profiles[p].original_payload));
            }
        }
        assert_same_text(before, whole_text(old), seed);
        batch_unref(&old);
        batch_unref(&new);
    }
}

struct failing {
    struct batch *batch;
    enum attribute_level level;
};

static bool change_sets(void *arg, struct err *e)
{
    struct failing *f = arg;
    struct batch *b = batch_ref(f->batch);
    struct asker a = {.seed = 7, .percent_changed = 80};
    struct attribute_sets_change change = {.level = f->level, .change = answer, .arg = &a};
    bool ok = batch_change_attribute_sets(&b, &change, e) == ERR_OK;
    assert_true(ok || b == f->batch);
    batch_unref(&b);
    return ok;
}

static bool change_scope(void *arg, struct err *e)
{
    struct failing *f = arg;
    struct batch *b = batch_ref(f->batch);
    const struct attribute_put put = {.change.of_scopes = true, .attribute = {BYTES_LITERAL("key"), value_bool(true)}};
    bool ok = put_attribute(&b, put, e) == ERR_OK;
    assert_true(ok || b == f->batch);
    batch_unref(&b);
    return ok;
}

static enum err_code refuse(void *arg, uint32_t resource, const struct unit_attribute *list, uint32_t count,
                            const struct unit_attribute **out, uint32_t *count_out, struct err *e)
{
    uint32_t *left = arg;
    (void)resource;
    *out = list;
    *count_out = count > 0 ? count - 1 : 0;
    if (*left == 0)
        return err_set(e, ERR_INVALID, "no more");
    --*left;
    return ERR_OK;
}

static void a_failure_leaves_the_batch(void **state)
{
    (void)state;
    struct random_batch_options small = random_batch_defaults;
    small.item_count = small.max_samples = 6;
    for (uint64_t seed = 1; seed < 12; seed++) {
        struct failing f = {.batch = random_batch(seed, &small)};
        for (f.level = LEVEL_PROFILE; f.level <= LEVEL_SAMPLE; f.level++) {
            run_with_failing_memory(change_sets, &f);
            uint64_t pairs = pairs_in_use(f.batch, f.level);
            for (uint32_t n = 0; n < pairs; n++) {
                struct err e = {0};
                uint32_t left = n;
                struct batch *b = batch_ref(f.batch);
                struct attribute_sets_change change = {.level = f.level, .change = refuse, .arg = &left};
                assert_int_equal(batch_change_attribute_sets(&b, &change, &e), ERR_INVALID);
                assert_string_equal(e.text, "no more");
                assert_ptr_equal(b, f.batch);
                batch_unref(&b);
            }
        }
        run_with_failing_memory(change_scope, &f);
        batch_unref(&f.batch);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_become_what_change_says),  cmocka_unit_test(without_a_change_the_batch_stays),
        cmocka_unit_test(edits_follow_each_other),       cmocka_unit_test(equal_answers_are_one_set),
        cmocka_unit_test(scopes_may_be_asked_for),       cmocka_unit_test(merging_and_pruning_take_changed_batches),
        cmocka_unit_test(memory_counts_base_and_copies), cmocka_unit_test(scope_attributes_change_alone),
        cmocka_unit_test(a_failure_leaves_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
