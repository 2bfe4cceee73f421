// SPDX-License-Identifier: Apache-2.0
// Profiles in pprof format. Section `file` watches globs: a file is sent once, and remembered, or deleted,
// only after every peer has taken it.
#include "receivers/file_receiver.h"

struct pprof_settings {
    struct file_receiver_settings files;
};

static const struct format *const pprof_formats[] = {&pprof_format, &pprof_legacy_format, NULL};

static const struct field pprof_fields[] = {
    FILE_RECEIVER_FIELDS,
    {.name = "original_payload",
     .type = FIELD_BOOL,
     .offset = offsetof(struct pprof_settings, files.file.options.original_payload),
     .default_text = "false",
     .help = "send the file itself along with what was decoded from it"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    static const char example[] = "/folder/**/*.pb.gz";
    const struct pprof_settings *s = settings;
    if (!s->files.has_file)
        check_error(check, "", "has nothing to read: add file: {include: \"%s\"}", example);
    file_receiver_check(&s->files, check, example);
}

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    (void)e;
    const struct pprof_settings *s = settings;
    ((struct file_receiver *)self)->settings = &s->files;
    return ERR_OK;
}

static enum err_code start(struct receiver *self, struct err *e)
{
    return file_receiver_start((struct file_receiver *)self, pprof_formats, e);
}

const struct receiver_module pprof_receiver = {
    .module =
        {
            .type = "pprof",
            .help = "Reads profiles in pprof format from files.",
            .settings_size = sizeof(struct pprof_settings),
            .instance_size = sizeof(struct file_receiver),
            .fields = pprof_fields,
            .check = check_settings,
        },
    .transports = {"file"},
    .create = create,
    .start = start,
    .close = file_receiver_close,
    .stop = file_receiver_stop,
    .destroy = file_receiver_destroy,
};
