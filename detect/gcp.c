// SPDX-License-Identifier: Apache-2.0
// Google Cloud: the metadata server, one value a request. A node of GKE tells its cluster as well.
#include "detect/metadata_service.h"

#define ROOT "/computeMetadata/v1/"

// "projects/123/machineTypes/e2-medium": what counts stands behind the last slash.
static enum err_code last_part(struct bytes body, struct bytes *out, struct err *e)
{
    enum err_code rc = metadata_line(body, METADATA_MAX_TOKEN_BYTES, out, e);
    for (size_t i = rc == ERR_OK ? out->len : 0; i-- > 0;)
        if (out->data[i] == '/') {
            *out = (struct bytes){out->data + i + 1, out->len - i - 1};
            break;
        }
    return rc;
}

// A zone is a region, a dash and a letter: us-central1-c.
static void add_location(struct metadata_walk *w, struct bytes location)
{
    size_t dashes = 0, last = location.len;
    for (size_t i = 0; i < location.len; i++)
        if (location.data[i] == '-') {
            dashes++;
            last = i;
        }
    w->is_located = true;
    if (dashes < 2) {
        detector_add(w->run, "cloud.region", location);
        return;
    }
    detector_add(w->run, "cloud.availability_zone", location);
    detector_add(w->run, "cloud.region", (struct bytes){location.data, last});
}

static enum err_code use_cluster_name(struct metadata_walk *w, struct bytes body, struct err *e)
{
    struct bytes name;
    enum err_code rc = metadata_line(body, METADATA_MAX_TOKEN_BYTES, &name, e);
    if (rc == ERR_OK && name.len > 0 && detector_env(w->run, "KUBERNETES_SERVICE_HOST") != NULL) {
        w->is_cluster = true;
        detector_add(w->run, "k8s.cluster.name", name);
    }
    return rc;
}

static enum err_code use_cluster_location(struct metadata_walk *w, struct bytes body, struct err *e)
{
    struct bytes location;
    enum err_code rc = last_part(body, &location, e);
    if (rc == ERR_OK && w->is_cluster && location.len > 0)
        add_location(w, location);
    return rc;
}

static enum err_code use_zone(struct metadata_walk *w, struct bytes body, struct err *e)
{
    struct bytes zone;
    enum err_code rc = last_part(body, &zone, e);
    if (rc == ERR_OK && !w->is_located)
        add_location(w, zone);
    return rc;
}

static enum err_code use_machine_type(struct metadata_walk *w, struct bytes body, struct err *e)
{
    struct bytes type;
    enum err_code rc = last_part(body, &type, e);
    if (rc == ERR_OK && !w->is_cluster)
        detector_add(w->run, "host.type", type);
    return rc;
}

static void add_platform(struct metadata_walk *w)
{
    detector_add_text(w->run, "cloud.provider", "gcp");
    detector_add_text(w->run, "cloud.platform", w->is_cluster ? "gcp_kubernetes_engine" : "gcp_compute_engine");
}

static const struct metadata_step steps[] = {
    {.path = ROOT "project/project-id", .key = "cloud.account.id"},
    {.path = ROOT "instance/attributes/cluster-name", .optional = true, .use = use_cluster_name},
    {.path = ROOT "instance/attributes/cluster-location", .optional = true, .use = use_cluster_location},
    {.path = ROOT "instance/zone", .optional = true, .use = use_zone},
    {.path = ROOT "instance/id", .optional = true, .key = "host.id"},
    {.path = ROOT "instance/name", .optional = true, .key = "host.name"},
    {.path = ROOT "instance/machine-type", .optional = true, .use = use_machine_type},
};

static const struct metadata_service service = {
    .endpoint = offsetof(struct detect_settings, gcp.endpoint),
    .header = {"Metadata-Flavor", "Google"},
    .answer = {"Metadata-Flavor", "Google"},
    .steps = steps,
    .step_count = COUNT_OF(steps),
    .finish = add_platform,
};

static void begin(struct detector_run *r)
{
    metadata_begin(r, &service);
}

const struct detector detector_gcp = {
    .name = "gcp",
    .attributes = detect_gcp_attributes,
    .switches = offsetof(struct detect_settings, gcp.attributes),
    .begin = begin,
    .cancel = metadata_cancel,
};
