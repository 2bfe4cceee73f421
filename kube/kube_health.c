// SPDX-License-Identifier: Apache-2.0
#include "kube/kube_health.h"

#include "kube/kube_resource.h"

#include <stdio.h>
#include <string.h>

static const char *plural(const struct kube_health *h)
{
    return kube_resource_of(h->kind)->plural;
}

static bool ends(const char *trouble, const char *verb)
{
    return trouble != NULL && (strcmp(trouble, verb) == 0 || strcmp(verb, "watch") == 0);
}

void kube_health_served(struct kube_health *h, const char *verb)
{
    if (ends(h->troubled, verb)) {
        kube_api_serves(h->api);
        h->troubled = NULL;
    }
    if (ends(h->forbidden, verb)) {
        log_info(h->api->log, "the Kubernetes API serves %s now", plural(h));
        h->forbidden = NULL;
    }
}

void kube_health_troubled(struct kube_health *h, const char *verb, const char *why)
{
    char what[ERR_TEXT_MAX + 64];
    if (h->troubled != NULL) {
        log_debug(h->api->log, "%s of %s again: %s", verb, plural(h), why);
        return;
    }
    h->troubled = verb;
    snprintf(what, sizeof what, "%s of %s: %s", verb, plural(h), why);
    kube_api_troubled(h->api, what);
}

void kube_health_forbidden(struct kube_health *h, const char *verb, int status, const char *why)
{
    double seconds = (double)h->api->timing.forbidden_nanos / (double)NANOS_PER_SECOND;
    struct buf rule;
    if (h->troubled != NULL)
        kube_api_serves(h->api);
    h->troubled = NULL;
    if (h->forbidden != NULL)
        return;
    h->forbidden = verb;
    buf_init(&rule, ERR_TEXT_MAX);
    kube_resource_rule(h->kind, h->namespace_name, &rule);
    if (status == 403)
        log_error(h->api->log,
                  "the Kubernetes API forbids to %s %s: %s. The account needs the rule %.*s; it is asked again "
                  "within %g s",
                  verb, plural(h), why, BYTES_PRINT(buf_bytes(&rule)), seconds);
    else
        log_error(h->api->log, "the Kubernetes API has no %s: %s; it is asked again within %g s", plural(h), why,
                  seconds);
    buf_fini(&rule);
}
