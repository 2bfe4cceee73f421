// SPDX-License-Identifier: Apache-2.0
// Amazon EC2: the instance metadata service, version 2 only: a token first, with which the rest is asked for.
#include "detect/metadata_service.h"

static enum err_code use_token(struct metadata_walk *w, struct bytes body, struct err *e)
{
    struct bytes token;
    enum err_code rc = metadata_line(body, METADATA_MAX_TOKEN_BYTES, &token, e);
    if (rc != ERR_OK)
        return rc;
    if (token.len > 0)
        memcpy(w->token, token.data, token.len);
    w->token[token.len] = '\0';
    w->header = (struct http_header){"X-aws-ec2-metadata-token", w->token};
    return ERR_OK;
}

static enum err_code use_document(struct metadata_walk *w, struct bytes body, struct err *e)
{
    static const struct metadata_member members[] = {
        {NULL, "instanceId", "host.id"},    {NULL, "accountId", "cloud.account.id"},
        {NULL, "region", "cloud.region"},   {NULL, "availabilityZone", "cloud.availability_zone"},
        {NULL, "imageId", "host.image.id"}, {NULL, "instanceType", "host.type"},
    };
    enum err_code rc = metadata_document(w, body, members, COUNT_OF(members), e);
    if (rc == ERR_OK) {
        detector_add_text(w->run, "cloud.provider", "aws");
        detector_add_text(w->run, "cloud.platform", "aws_ec2");
    }
    return rc;
}

static const struct metadata_step steps[] = {
    {.method = "PUT",
     .path = "/latest/api/token",
     .remedy = "in a container the instance's HttpPutResponseHopLimit must be 2 or more",
     .use = use_token},
    {.path = "/latest/dynamic/instance-identity/document", .use = use_document},
    {.path = "/latest/meta-data/hostname", .optional = true, .key = "host.name"},
};

static const struct metadata_service service = {
    .endpoint = offsetof(struct detect_settings, ec2.endpoint),
    .header = {"X-aws-ec2-metadata-token-ttl-seconds", "60"},
    .steps = steps,
    .step_count = COUNT_OF(steps),
};

static void begin(struct detector_run *r)
{
    metadata_begin(r, &service);
}

const struct detector detector_ec2 = {
    .name = "ec2",
    .attributes = detect_ec2_attributes,
    .switches = offsetof(struct detect_settings, ec2.attributes),
    .begin = begin,
    .cancel = metadata_cancel,
};
