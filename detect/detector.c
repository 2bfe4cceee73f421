// SPDX-License-Identifier: Apache-2.0
#include "detect/detector.h"

#include "base/mem.h"
#include "base/text.h"

static const struct detector *const detectors[] = {
    &detector_env_variables, &detector_system, &detector_container, &detector_k8s_downward,
    &detector_k8s_api,       &detector_ec2,    &detector_gcp,       &detector_azure,
};

const struct detector *detector_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(detectors); i++)
        if (strcmp(detectors[i]->name, name) == 0 ||
            (detectors[i]->alias != NULL && strcmp(detectors[i]->alias, name) == 0))
            return detectors[i];
    return NULL;
}

#define BY_VARIABLES "set OTEL_RESOURCE_ATTRIBUTES where it runs, and use env"
#define BY_CONTAINER "container finds container.id without Docker's socket, system the host's name"
#define BY_KUBERNETES "the processor k8s_attributes asks the Kubernetes API, resource sets k8s.cluster.name"

static const struct {
    const char *name, *remedy;
} missing[] = {
    {"docker", BY_CONTAINER},
    {"ecs", BY_VARIABLES},
    {"eks", "use ec2; " BY_KUBERNETES},
    {"aks", "use azure; " BY_KUBERNETES},
    {"kubeadm", BY_KUBERNETES},
    {"openshift", BY_KUBERNETES},
    {"lambda", BY_VARIABLES},
    {"elastic_beanstalk", "use ec2"},
    {"elasticbeanstalk", "use ec2"},
    {"azurecontainerapps", BY_VARIABLES},
    {"heroku", BY_VARIABLES},
    {"consul", BY_VARIABLES},
    {"dynatrace", BY_VARIABLES},
    {"hetzner", BY_VARIABLES},
    {"akamai", BY_VARIABLES},
    {"scaleway", BY_VARIABLES},
    {"vultr", BY_VARIABLES},
    {"oraclecloud", BY_VARIABLES},
    {"digitalocean", BY_VARIABLES},
    {"nova", BY_VARIABLES},
    {"upcloud", BY_VARIABLES},
    {"alibaba_ecs", BY_VARIABLES},
    {"tencent_cvm", BY_VARIABLES},
    {"ibmcloud_vpc", BY_VARIABLES},
    {"ibmcloud_classic", BY_VARIABLES},
};

const char *detector_missing_remedy(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(missing); i++)
        if (strcmp(missing[i].name, name) == 0)
            return missing[i].remedy;
    return NULL;
}

// --- what was found ---

void detector_found_fini(struct detector_found *f)
{
    arena_fini(&f->arena);
    free(f->list);
    *f = (struct detector_found){.list = NULL};
}

bool detector_wants(const struct detector_run *r, const char *key)
{
    const struct field *f = r->detector->attributes;
    if (f == NULL)
        return true;
    while (f->name != NULL && strcmp(f->name, key) != 0)
        f++;
    if (f->name == NULL)
        return false;
    const char *switches = (const char *)r->settings + r->detector->switches;
    return ((const struct detect_switch *)(switches + f->offset))->enabled;
}

static bool copy_text(struct detector_run *r, struct bytes text, struct bytes *out)
{
    if (text.len > DETECTED_MAX_TEXT_BYTES)
        text.len = DETECTED_MAX_TEXT_BYTES;
    uint8_t *copy = arena_try_alloc(&r->found.arena, utf8_repair(text, NULL));
    if (copy == NULL)
        return false;
    *out = (struct bytes){copy, utf8_repair(text, copy)};
    return true;
}

// again: in the place of what is there.
static void add_value(struct detector_run *r, struct bytes key, struct value v, bool again)
{
    struct detector_found *f = &r->found;
    struct bytes copy;
    uint32_t at = 0;
    while (at < f->count && !bytes_equal(f->list[at].key, key))
        at++;
    if (at < f->count) {
        if (again)
            f->list[at].value = v;
        return;
    }
    if (!mem_try_grow((void **)&f->list, &f->capacity, (size_t)f->count + 1, sizeof *f->list,
                      DETECTED_MAX_ATTRIBUTES) ||
        !copy_text(r, key, &copy)) {
        r->failed = true;
        return;
    }
    f->list[f->count++] = (struct key_value){copy, v};
}

static void add_text(struct detector_run *r, struct bytes key, struct bytes text, bool again)
{
    struct bytes copy;
    if (key.len == 0 || text.len == 0)
        return;
    if (copy_text(r, text, &copy))
        add_value(r, key, value_string(copy), again);
    else
        r->failed = true;
}

void detector_put(struct detector_run *r, struct bytes key, struct bytes text)
{
    add_text(r, key, text, true);
}

void detector_add(struct detector_run *r, const char *key, struct bytes text)
{
    if (detector_wants(r, key))
        add_text(r, bytes_from_text(key), text, false);
}

void detector_add_text(struct detector_run *r, const char *key, const char *text)
{
    detector_add(r, key, bytes_from_text(text));
}

void detector_add_list(struct detector_run *r, const char *key, const char *const *texts, uint32_t count)
{
    struct bytes copy;
    if (count == 0 || !detector_wants(r, key))
        return;
    struct value *items = arena_try_alloc(&r->found.arena, count * sizeof *items);
    if (items == NULL) {
        r->failed = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        r->failed |= !copy_text(r, bytes_from_text(texts[i]), &copy);
        if (r->failed)
            return;
        items[i] = value_string(copy);
    }
    add_value(r, bytes_from_text(key), (struct value){.kind = VALUE_ARRAY, .count = count, .items = items}, false);
}

void detector_end(struct detector_run *r, const struct err *e)
{
    struct err own = {0};
    CHECK(r->pending);
    r->pending = false;
    if (e == NULL && r->failed) {
        err_set(&own, ERR_LIMIT, "more than %d attributes, or out of memory", DETECTED_MAX_ATTRIBUTES);
        e = &own;
    }
    r->failed = e != NULL;
    r->on_end(r, e);
}
