// SPDX-License-Identifier: Apache-2.0
// The Collector's `resource_detection`: each resource gets the attributes of the place profrelay runs at. They are found
// by detect/, on the loop; here they are only written.
#include "base/mem.h"
#include "detect/detection.h"
#include "processors/attribute_actions.h"
#include "processors/processors.h"

struct resource_detection_settings {
    struct detect_settings detect;
    bool override;
};

struct resource_detection {
    struct processor processor;
    struct detection *detection;
    bool override;
};

static const struct field resource_detection_fields[] = {
    DETECT_FIELDS(offsetof(struct resource_detection_settings, detect)),
    {.name = "override",
     .type = FIELD_BOOL,
     .offset = offsetof(struct resource_detection_settings, override),
     .default_text = "true",
     .help = "what was found replaces what a resource has already"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    detect_settings_check(&((const struct resource_detection_settings *)settings)->detect, check);
}

static enum err_code create(struct processor *self, const void *settings, struct err *e)
{
    struct resource_detection *p = (struct resource_detection *)self;
    const struct resource_detection_settings *s = settings;
    (void)e;
    self->takes_unread = true;
    p->override = s->override;
    p->detection = detection_create(&self->component, &s->detect, NULL);
    return ERR_OK;
}

static enum err_code start(struct processor *self, struct err *e)
{
    (void)e;
    detection_start(((struct resource_detection *)self)->detection);
    return ERR_OK;
}

static enum err_code ready(struct processor *self, struct err *e)
{
    return detection_ready(((const struct resource_detection *)self)->detection, e);
}

static void on_stopped(void *arg)
{
    component_stopped(arg);
}

static void stop(struct processor *self)
{
    detection_stop(((struct resource_detection *)self)->detection, on_stopped, &self->component);
}

// --- one batch ---

struct merge {
    const struct detected *found;
    bool override;
    struct key_value *list; // grows
    size_t capacity;
};

static bool put(struct key_value *list, uint32_t *count, const struct key_value *v, bool override)
{
    uint32_t i = 0;
    while (i < *count && !bytes_equal(list[i].key, v->key))
        i++;
    if (i < *count && (!override || value_equal(&list[i].value, &v->value)))
        return false;
    list[i] = *v;
    *count += i == *count;
    return true;
}

static enum err_code change_part(void *arg, uint32_t resource, uint32_t scope, struct part_attributes *part,
                                 struct err *e)
{
    struct merge *m = arg;
    uint32_t count = part->count;
    bool changed = false;
    (void)resource, (void)scope;
    if (!mem_try_grow((void **)&m->list, &m->capacity, (size_t)count + m->found->count, sizeof *m->list, UINT32_MAX))
        return attribute_no_memory(e);
    if (count > 0)
        memcpy(m->list, part->list, count * sizeof *m->list);
    for (uint32_t i = 0; i < m->found->count; i++)
        changed |= put(m->list, &count, &m->found->list[i], m->override);
    if (changed) {
        part->list = m->list;
        part->count = count;
    }
    return ERR_OK;
}

static enum err_code process(struct processor *self, struct batch **batch, const struct sender *from, struct err *e)
{
    const struct resource_detection *p = (const struct resource_detection *)self;
    struct detected *found = detection_current(p->detection);
    struct merge m = {.found = found, .override = p->override};
    (void)from;
    enum err_code rc = ERR_OK;
    if (found->count > 0)
        rc = batch_change_part_attributes(batch, &(struct part_attributes_change){false, change_part, &m}, e);
    free(m.list);
    detected_unref(&found);
    return rc;
}

static void destroy(struct processor *self)
{
    detection_destroy(&((struct resource_detection *)self)->detection);
}

static const char *const aliases[] = {"resourcedetection", NULL};

const struct processor_module resource_detection_processor = {
    .module =
        {
            .type = "resource_detection",
            .aliases = aliases,
            .help = "Adds what is found out about the place it runs at: environment, host, container, cloud.",
            .settings_size = sizeof(struct resource_detection_settings),
            .instance_size = sizeof(struct resource_detection),
            .fields = resource_detection_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .ready = ready,
    .stop = stop,
    .process = process,
    .destroy = destroy,
};
