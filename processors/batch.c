// SPDX-License-Identifier: Apache-2.0
// The Collector's `batch` processor: many small deliveries become one, and too large ones several. Senders wait for the
// verdict on the whole, so nothing is lost between.
#include "base/mem.h"
#include "config/errors.h"
#include "processors/processors.h"
#include "profile/merge.h"

struct batch_settings {
    int64_t timeout_nanos, size, max_size, most_groups;
    int sizer; // enum hold_sizer
    struct config_strings keys;
};

struct batcher {
    struct processor processor;
    uint64_t max_size;
};

// Batches being cut.
struct cuts {
    struct batch **items;
    size_t count;
};

static const char *const sizer_names[] = {
    [HOLD_SAMPLES] = "items", [HOLD_PROFILES] = "profiles", [HOLD_BYTES] = "bytes", NULL};

#define SETTING(member) offsetof(struct batch_settings, member)

static const struct field batch_fields[] = {
    {.name = "send_batch_size",
     .type = FIELD_INT,
     .offset = SETTING(size),
     .default_text = "8192",
     .min = 0,
     .max = 1e15,
     .unit = "as sizer says",
     .help = "so much goes on at once; 0 = only after timeout"},
    {.name = "send_batch_max_size",
     .type = FIELD_INT,
     .offset = SETTING(max_size),
     .default_text = "0",
     .min = 0,
     .max = 1e15,
     .unit = "as sizer says",
     .help = "what is larger is cut, of items and profiles; 0 = nothing is"},
    {.name = "timeout",
     .type = FIELD_DURATION,
     .offset = SETTING(timeout_nanos),
     .default_text = "200ms",
     .min = 0,
     .max = (double)(3600 * NANOS_PER_SECOND),
     .help = "the longest that anything waits, its sender with it; more than 2s counts as 2s; 0 = nothing waits"},
    {.name = "sizer",
     .type = FIELD_ENUM,
     .offset = SETTING(sizer),
     .default_text = "items",
     .names = sizer_names,
     .help = "what the sizes count: items are samples, bytes those in memory"},
    {.name = "metadata_keys",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(keys),
     .help = "attributes of resources; what differs in one of them is not put together"},
    {.name = "metadata_cardinality_limit",
     .type = FIELD_INT,
     .offset = SETTING(most_groups),
     .default_text = "1000",
     .min = 1,
     .max = 10000,
     .unit = "groups",
     .help = "groups that wait at a time; then the oldest goes on early"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct batch_settings *s = settings;
    if (s->timeout_nanos > HOLD_WAITS_NANOS)
        config_warning(
            check->errors, check->at,
            "%s: timeout: senders wait as long, and those that wait for more than 2s send again: it counts as 2s",
            check->name);
    if (s->max_size == 0)
        return;
    if (s->sizer == HOLD_BYTES)
        check_error(check, "send_batch_max_size",
                    "batches are not cut by bytes: exporters cut what a peer finds too large; leave it out, or "
                    "choose another sizer");
    else if (s->max_size < s->size)
        check_error(check, "send_batch_max_size", "must be at least send_batch_size, %lld", (long long)s->size);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    (void)e;
    const struct batch_settings *s = settings;
    self->hold = (struct processor_hold){
        .longest_nanos = s->timeout_nanos < HOLD_WAITS_NANOS ? s->timeout_nanos : HOLD_WAITS_NANOS,
        .enough = (uint64_t)s->size,
        .sizer = (enum hold_sizer)s->sizer,
        .keys = &s->keys,
        .most_groups = (uint64_t)s->most_groups,
    };
    ((struct batcher *)self)->max_size = (uint64_t)s->max_size;
    self->takes_unread = s->max_size == 0;
    return ERR_OK;
}

// --- cutting by profiles ---

// Where the n-th profile is, counted from 0.
static struct profile_position profile_at(const struct batch *b, uint64_t n)
{
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            uint32_t count = b->resources[r]->scopes[s]->profile_count;
            if (n < count)
                return (struct profile_position){r, s, (uint32_t)n};
            n -= count;
        }
    }
    CHECK(false);
    return (struct profile_position){0, 0, 0};
}

static uint64_t pieces(uint64_t profiles, uint64_t max)
{
    return profiles == 0 ? 1 : (profiles - 1) / max + 1;
}

// In the middle again and again, so that nothing is copied more often than the logarithm of the pieces. Takes b over.
static enum err_code cut(struct batch *b, uint64_t max, struct cuts *c, struct err *e)
{
    uint64_t count = pieces(b->profile_count, max);
    if (count == 1) {
        c->items[c->count++] = b;
        return ERR_OK;
    }
    struct batch *first, *second;
    enum err_code rc = batch_split_at(b, profile_at(b, count / 2 * max), &first, &second, e);
    batch_unref(&b);
    if (rc != ERR_OK)
        return rc;
    rc = cut(first, max, c, e);
    if (rc != ERR_OK)
        batch_unref(&second);
    return rc == ERR_OK ? cut(second, max, c, e) : rc;
}

static enum err_code cut_profiles(struct batch *b, uint64_t max, struct cuts *c, struct err *e)
{
    c->items = mem_try_array(pieces(b->profile_count, max), sizeof(struct batch *));
    if (c->items == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while cutting a batch");
    enum err_code rc = cut(batch_ref(b), max, c, e);
    if (rc == ERR_OK)
        return ERR_OK;
    for (size_t i = 0; i < c->count; i++)
        batch_unref(&c->items[i]);
    free(c->items);
    return rc;
}

// --- putting together ---

static enum err_code join(struct processor *self, struct batch *const *batches, size_t count, struct batch ***out,
                          size_t *count_out, struct err *e)
{
    uint64_t max = ((const struct batcher *)self)->max_size;
    struct batch *whole = NULL;
    struct cuts c = {NULL, 0};
    enum err_code rc = ERR_OK;
    if (count == 1)
        whole = batch_ref(batches[0]);
    else
        rc = batch_merge(batches, count, &whole, e);
    if (rc == ERR_OK && max != 0 && self->hold.sizer == HOLD_SAMPLES && whole->sample_count > max)
        rc = batch_split(whole, max, &c.items, &c.count, e);
    else if (rc == ERR_OK)
        rc = cut_profiles(whole, max != 0 && self->hold.sizer == HOLD_PROFILES ? max : UINT64_MAX, &c, e);
    batch_unref(&whole);
    *out = rc == ERR_OK ? c.items : NULL;
    *count_out = rc == ERR_OK ? c.count : 0;
    return rc;
}

static void destroy(struct processor *self)
{
    (void)self;
}

const struct processor_module batch_processor = {
    .module =
        {
            .type = "batch",
            .help = "Puts deliveries together, whose senders wait for the whole.",
            .settings_size = sizeof(struct batch_settings),
            .instance_size = sizeof(struct batcher),
            .fields = batch_fields,
            .check = check_settings,
        },
    .create = create,
    .join = join,
    .destroy = destroy,
};
