// SPDX-License-Identifier: Apache-2.0
// The Collector's `memory_limiter`: its keys set the service's budget (service.memory_limit). While more of it is used than
// a soft limit, nothing new is let in, so that what is on its way has room to end.
#include "processors/processors.h"

#include <inttypes.h>

enum { DEFAULT_SPIKE_PERCENT = 20 };

struct memory_limiter_settings {
    int64_t limit_mib, spike_limit_mib, limit_percentage, spike_limit_percentage;
    const char *root_path;
};

struct memory_limiter {
    struct processor processor;
    uint64_t limit, spike; // bytes, as configured
    size_t soft;           // bytes, of the limit that counts
};

#define SETTING(member) offsetof(struct memory_limiter_settings, member)

static const struct field memory_limiter_fields[] = {
    {.name = "limit_mib",
     .type = FIELD_INT,
     .offset = SETTING(limit_mib),
     .default_text = "0",
     .max = 1e9,
     .unit = "MiB",
     .help = "hard limit of the service's memory, as service.memory_limit; 0 = limit_percentage"},
    {.name = "limit_percentage",
     .type = FIELD_INT,
     .offset = SETTING(limit_percentage),
     .default_text = "0",
     .max = 100,
     .unit = "percent",
     .help = "the same, of what the cgroup or the machine has; limit_mib comes first"},
    {.name = "spike_limit_mib",
     .type = FIELD_INT,
     .offset = SETTING(spike_limit_mib),
     .default_text = "0",
     .max = 1e9,
     .unit = "MiB",
     .help = "kept free for what is on its way: above limit - spike nothing new is let in; 0 = a fifth of the limit"},
    {.name = "spike_limit_percentage",
     .type = FIELD_INT,
     .offset = SETTING(spike_limit_percentage),
     .default_text = "0",
     .max = 100,
     .unit = "percent",
     .help = "the same with limit_percentage; 0 = a fifth of the limit"},
    {.name = "root_path",
     .type = FIELD_STRING,
     .offset = SETTING(root_path),
     .default_text = "/",
     .help = "where proc and sys/fs/cgroup are that limit_percentage is of"},
    {.name = "check_interval", .type = FIELD_IGNORED, .help = "memory is counted before it is taken, at each request"},
    {.name = "min_gc_interval_when_soft_limited", .type = FIELD_IGNORED, .help = "there is no garbage to collect"},
    {.name = "min_gc_interval_when_hard_limited", .type = FIELD_IGNORED, .help = "the same"},
    {.name = "max_gc_interval_when_soft_limited", .type = FIELD_IGNORED, .help = "the same"},
    {.name = "max_gc_interval_when_hard_limited", .type = FIELD_IGNORED, .help = "the same"},
    {.name = NULL},
};

// --- settings ---

static bool is_spike_too_large(int64_t spike, int64_t limit)
{
    return spike != 0 && spike >= limit;
}

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct memory_limiter_settings *s = settings;
    if (s->limit_mib == 0 && s->limit_percentage == 0)
        check_error(check, "", "limit_mib or limit_percentage must be greater than 0");
    else if (s->limit_mib != 0 && is_spike_too_large(s->spike_limit_mib, s->limit_mib))
        check_error(check, "spike_limit_mib", "must be smaller than limit_mib: %" PRId64 " is not less than %" PRId64,
                    s->spike_limit_mib, s->limit_mib);
    else if (s->limit_mib == 0 && is_spike_too_large(s->spike_limit_percentage, s->limit_percentage))
        check_error(check, "spike_limit_percentage",
                    "must be smaller than limit_percentage: %" PRId64 " is not less than %" PRId64,
                    s->spike_limit_percentage, s->limit_percentage);
    if (s->limit_mib == 0 && s->spike_limit_mib != 0)
        check_error(check, "spike_limit_mib", "needs limit_mib; beside limit_percentage it is spike_limit_percentage");
}

static void set_limits(struct memory_limiter *p, const struct memory_limiter_settings *s)
{
    if (s->limit_mib != 0) {
        p->limit = (uint64_t)s->limit_mib << 20;
        p->spike = (uint64_t)s->spike_limit_mib << 20;
    } else {
        const uint64_t hundredth = budget_total_memory(s->root_path, NULL) / 100;
        p->limit = hundredth * (uint64_t)s->limit_percentage;
        p->spike = hundredth * (uint64_t)s->spike_limit_percentage;
    }
    if (p->limit == 0) // a hundredth of nothing
        p->limit = 1;
    if (p->spike == 0)
        p->spike = p->limit / 100 * DEFAULT_SPIKE_PERCENT;
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct memory_limiter *p = (struct memory_limiter *)self;
    (void)e;
    self->takes_unread = true;
    set_limits(p, settings);
    budget_set_limit(self->component.env->budget, (size_t)p->limit);
    return ERR_OK;
}

// All limits are known now. The spike is the same part of whichever counts.
static enum err_code start(struct processor *self, struct err *e)
{
    struct memory_limiter *p = (struct memory_limiter *)self;
    const size_t limit = self->component.env->budget->limit;
    (void)e;
    p->soft = limit - (size_t)((double)limit * ((double)p->spike / (double)p->limit));
    if (limit < p->limit)
        log_info(&self->component.log,
                 "service.memory_limit or another memory_limiter allows %zu bytes, this one %" PRIu64
                 ": the smaller counts; above %zu nothing new is let in",
                 limit, p->limit, p->soft);
    else
        log_info(&self->component.log, "the memory limit is %zu bytes; above %zu nothing new is let in", limit,
                 p->soft);
    return ERR_OK;
}

// --- what comes ---

static bool refuse(const struct memory_limiter *p, size_t used, struct verdict *refusal)
{
    *refusal = verdict_make(VERDICT_RETRY, "%s: %zu bytes of memory are used, above %zu nothing new is let in",
                            p->processor.component.id, used, p->soft);
    return false;
}

static bool has_room(struct processor *self, struct verdict *refusal)
{
    const struct memory_limiter *p = (const struct memory_limiter *)self;
    const size_t used = atomic_load(&self->component.env->budget->used);
    return used <= p->soft || refuse(p, used, refusal);
}

// What it holds itself does not count: alone, a large delivery goes on.
static bool admit(struct processor *self, const struct batch *b, struct verdict *refusal)
{
    const struct memory_limiter *p = (const struct memory_limiter *)self;
    return has_room(self, refusal) ||
           atomic_load(&self->component.env->budget->used) <= p->soft + batch_memory_bytes(b);
}

static void destroy(struct processor *self)
{
    (void)self;
}

const struct processor_module memory_limiter_processor = {
    .module =
        {
            .type = "memory_limiter",
            .help = "Limits the memory of the service, and lets nothing new in while little of it is left.",
            .settings_size = sizeof(struct memory_limiter_settings),
            .instance_size = sizeof(struct memory_limiter),
            .fields = memory_limiter_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .admit = admit,
    .has_room = has_room,
    .destroy = destroy,
};
