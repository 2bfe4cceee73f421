// SPDX-License-Identifier: Apache-2.0
// Prints what passes to stdout, from encode: nothing is queued, nothing can fail for good.
#include "exporters/debug_print.h"
#include "exporters/exporters.h"

#include <stdio.h>

enum { MAX_TEXT_BYTES = 64 << 20 }; // of one batch

struct debug_settings {
    int verbosity; // enum debug_verbosity
    int64_t max_samples;
};

struct debug {
    struct exporter exporter;
    const struct debug_settings *settings;
};

#define SETTING(member) offsetof(struct debug_settings, member)

static const char *const verbosity_names[] = {
    [DEBUG_BASIC] = "basic", [DEBUG_NORMAL] = "normal", [DEBUG_DETAILED] = "detailed", NULL};

static const struct field debug_fields[] = {
    {.name = "verbosity",
     .type = FIELD_ENUM,
     .offset = SETTING(verbosity),
     .default_text = "basic",
     .names = verbosity_names,
     .help = "a line per batch, a line per profile, or everything"},
    {.name = "max_samples",
     .type = FIELD_INT,
     .offset = SETTING(max_samples),
     .default_text = "100",
     .min = 0,
     .max = 1e9,
     .unit = "samples",
     .help = "how many samples of a batch `detailed` shows"},
    {.name = "sampling_initial", .type = FIELD_IGNORED, .help = "every batch is printed"},
    {.name = "sampling_thereafter", .type = FIELD_IGNORED, .help = "every batch is printed"},
    {.name = "use_internal_logger", .type = FIELD_IGNORED, .help = "output goes to stdout"},
    {.name = "output_paths", .type = FIELD_IGNORED, .help = "output goes to stdout"},
    {.name = NULL},
};

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    ((struct debug *)self)->settings = settings;
    return ERR_OK;
}

// One fwrite: the text of two batches never mixes.
static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    (void)out, (void)e;
    const struct debug_settings *s = ((struct debug *)self)->settings;
    struct buf text;
    buf_init(&text, MAX_TEXT_BYTES);
    debug_print(batch, (enum debug_verbosity)s->verbosity, (uint64_t)s->max_samples, &text);
    if (!buf_ok(&text))
        log_warn(&self->component.log, "the text of a batch was cut after %zu bytes", text.len);
    if (text.len != 0)
        fwrite(text.data, 1, text.len, stdout);
    fflush(stdout);
    buf_fini(&text);
    return ERR_OK;
}

static void stop(struct exporter *self)
{
    component_stopped(&self->component);
}

static void destroy(struct exporter *self)
{
    (void)self;
}

const struct exporter_module debug_exporter = {
    .module =
        {
            .type = "debug",
            .help = "Prints what passes to stdout.",
            .settings_size = sizeof(struct debug_settings),
            .instance_size = sizeof(struct debug),
            .fields = debug_fields,
        },
    .create = create,
    .encode = encode,
    .stop = stop,
    .destroy = destroy,
};
