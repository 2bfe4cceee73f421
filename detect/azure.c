// SPDX-License-Identifier: Apache-2.0
// Microsoft Azure: the instance metadata service of a virtual machine.
#include "detect/metadata_service.h"

static enum err_code use_compute(struct metadata_walk *w, struct bytes body, struct err *e)
{
    static const struct metadata_member members[] = {
        {NULL, "vmId", "host.id"},
        {"osProfile", "computerName", "host.name"},
        {NULL, "name", "host.name"},
        {NULL, "name", "azure.vm.name"},
        {NULL, "location", "cloud.region"},
        {NULL, "zone", "cloud.availability_zone"},
        {NULL, "subscriptionId", "cloud.account.id"},
        {NULL, "vmSize", "azure.vm.size"},
        {NULL, "vmScaleSetName", "azure.vm.scaleset.name"},
        {NULL, "resourceGroupName", "azure.resourcegroup.name"},
    };
    enum err_code rc = metadata_document(w, body, members, COUNT_OF(members), e);
    if (rc == ERR_OK) {
        detector_add_text(w->run, "cloud.provider", "azure");
        detector_add_text(w->run, "cloud.platform", "azure_vm");
    }
    return rc;
}

static const struct metadata_step steps[] = {
    {.path = "/metadata/instance/compute?api-version=2021-02-01&format=json", .use = use_compute},
};

static const struct metadata_service service = {
    .endpoint = offsetof(struct detect_settings, azure.endpoint),
    .header = {"Metadata", "true"},
    .steps = steps,
    .step_count = COUNT_OF(steps),
};

static void begin(struct detector_run *r)
{
    metadata_begin(r, &service);
}

const struct detector detector_azure = {
    .name = "azure",
    .attributes = detect_azure_attributes,
    .switches = offsetof(struct detect_settings, azure.attributes),
    .begin = begin,
    .cancel = metadata_cancel,
};
