// SPDX-License-Identifier: Apache-2.0
// Takes everything and sends it nowhere: to try a configuration, to measure the rest.
#include "exporters/exporters.h"

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)self, (void)settings, (void)e;
    return ERR_OK;
}

static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    (void)self, (void)batch, (void)out, (void)e;
    return ERR_OK;
}

static bool takes_unread(struct exporter *self, const struct batch *batch)
{
    (void)self, (void)batch;
    return true;
}

static void stop(struct exporter *self)
{
    component_stopped(&self->component);
}

static void destroy(struct exporter *self)
{
    (void)self;
}

static const struct field nop_fields[] = {{.name = NULL}};

const struct exporter_module nop_exporter = {
    .module =
        {
            .type = "nop",
            .help = "Takes everything and sends it nowhere.",
            .settings_size = 1,
            .instance_size = sizeof(struct exporter),
            .fields = nop_fields,
        },
    .create = create,
    .encode = encode,
    .takes_unread = takes_unread,
    .stop = stop,
    .destroy = destroy,
};
