// SPDX-License-Identifier: Apache-2.0
// Sums profiles that come within a window: equal stacks with equal attributes become one sample. Senders wait for the
// verdict on the whole, so nothing is lost between; if the window is longer than they can wait, it is a queue of its own.
#include "profile/aggregate.h"
#include "base/mem.h"
#include "processors/processors.h"
#include "profile/merge.h"

struct aggregate_settings {
    int64_t window_nanos, max_samples;
    struct config_strings keep;
};

struct summer {
    struct processor processor;
    const struct config_strings *keep;
};

#define SETTING(member) offsetof(struct aggregate_settings, member)

static const struct field aggregate_fields[] = {
    {.name = "window",
     .type = FIELD_DURATION,
     .offset = SETTING(window_nanos),
     .default_text = "1s",
     .min = (double)NANOS_PER_MS,
     .max = (double)(3600 * NANOS_PER_SECOND),
     .help = "profiles that come within it are summed; up to 2s, their senders wait; else, they are kept here"},
    {.name = "max_samples",
     .type = FIELD_INT,
     .offset = SETTING(max_samples),
     .default_text = "1000000",
     .min = 1,
     .max = 1e9,
     .unit = "samples",
     .help = "so many end the window early, as a full service.memory_limit does"},
    {.name = "keep",
     .type = FIELD_STRING_LIST,
     .offset = SETTING(keep),
     .default_text = "[inuse_space, inuse_objects, goroutine, goroutines, threadcreate]",
     .help = "sample types that are states, not counts: they go on as they are"},
    {.name = NULL},
};

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    (void)e;
    const struct aggregate_settings *s = settings;
    self->hold = (struct processor_hold){.longest_nanos = s->window_nanos,
                                         .keeps = s->window_nanos > HOLD_WAITS_NANOS,
                                         .enough = (uint64_t)s->max_samples};
    ((struct summer *)self)->keep = &s->keep;
    return ERR_OK;
}

static bool is_summed(void *arg, const struct batch *b, const struct profile *p)
{
    const struct config_strings *keep = ((const struct summer *)arg)->keep;
    for (size_t i = 0; i < keep->count; i++)
        if (bytes_equal(b->dictionary->strings[p->sample_type.type], bytes_from_text(keep->items[i])))
            return false;
    return true;
}

static enum err_code join(struct processor *self, struct batch *const *batches, size_t count, struct batch ***out,
                          size_t *count_out, struct err *e)
{
    const struct aggregate_rule rule = {is_summed, self};
    struct batch **list = mem_try_array(1, sizeof(struct batch *));
    if (list == NULL)
        return err_set(e, ERR_MEMORY, "out of memory while summing profiles");
    enum err_code rc = ERR_OK;
    if (count == 1)
        *list = batch_ref(batches[0]);
    else
        rc = batch_merge(batches, count, list, e);
    if (rc == ERR_OK && (rc = batch_aggregate(list, &rule, e)) != ERR_OK)
        batch_unref(list);
    if (rc != ERR_OK) {
        free(list);
        return rc;
    }
    *out = list;
    *count_out = 1;
    return ERR_OK;
}

static void destroy(struct processor *self)
{
    (void)self;
}

const struct processor_module aggregate_processor = {
    .module =
        {
            .type = "aggregate",
            .help = "Sums profiles of one kind that come within a window.",
            .settings_size = sizeof(struct aggregate_settings),
            .instance_size = sizeof(struct summer),
            .fields = aggregate_fields,
        },
    .create = create,
    .join = join,
    .destroy = destroy,
};
