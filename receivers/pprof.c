// SPDX-License-Identifier: Apache-2.0
// Profiles in pprof format. Section `file` watches globs: a file is sent once, and remembered, or deleted,
// only after every peer has taken it.
#include "base/glob.h"
#include "base/mem.h"
#include "receivers/file_watch.h"

#include <stdio.h>

struct pprof_settings {
    bool has_file;
    struct file_watch_settings file;
    const char *storage;
};

struct pprof_receiver {
    struct receiver receiver;
    const struct pprof_settings *settings;
    struct known_files *known;
    struct file_watch *watch;
};

static const char *const start_names[] = {[START_AT_BEGINNING] = "beginning", [START_AT_END] = "end", NULL};
static const char *const after_names[] = {[AFTER_KEEP] = "keep", [AFTER_DELETE] = "delete", NULL};
#define WATCH(member) offsetof(struct pprof_settings, file.member)
#define LIMIT(member) WATCH(options.limits.member)
#define HOURS 3600e9

static const struct field file_fields[] = {
    {.name = "include",
     .type = FIELD_STRING_LIST,
     .offset = WATCH(include),
     .required = true,
     .help = "globs of the files to send; ** crosses folders"},
    {.name = "exclude", .type = FIELD_STRING_LIST, .offset = WATCH(exclude), .help = "globs of files to leave alone"},
    {.name = "collection_interval",
     .type = FIELD_DURATION,
     .offset = WATCH(interval_nanos),
     .default_text = "10s",
     .min = 10e6,
     .max = 24 * HOURS,
     .help = "between two looks at the folders"},
    {.name = "initial_delay",
     .type = FIELD_DURATION,
     .offset = WATCH(initial_delay_nanos),
     .default_text = "0s",
     .min = 0,
     .max = 24 * HOURS,
     .help = "before the first look"},
    {.name = "start_at",
     .type = FIELD_ENUM,
     .offset = WATCH(start_at),
     .default_text = "beginning",
     .names = start_names,
     .help = "end: files that are there at the first look are left alone"},
    {.name = "after",
     .type = FIELD_ENUM,
     .offset = WATCH(after),
     .default_text = "keep",
     .names = after_names,
     .help = "what becomes of a file once every peer has taken it"},
    {.name = "settle_time",
     .type = FIELD_DURATION,
     .offset = WATCH(settle_nanos),
     .default_text = "1s",
     .min = 0,
     .max = HOURS,
     .help = "a file unchanged for this long is complete"},
    {.name = "forget_after",
     .type = FIELD_DURATION,
     .offset = WATCH(forget_nanos),
     .default_text = "24h",
     .min = 0,
     .max = 8760 * HOURS,
     .help = "content may come again when its file is gone for this long; 0 = never"},
    {.name = "max_file_size",
     .type = FIELD_SIZE,
     .offset = WATCH(options.max_file_bytes),
     .default_text = "256MiB",
     .min = 0,
     .max = 1099511627776.0,
     .help = "larger files are refused; 0 = no limit"},
    {.name = NULL},
};

static const struct field limit_fields[] = {
    {.name = "max_inflated_size",
     .type = FIELD_SIZE,
     .offset = LIMIT(max_inflated_bytes),
     .default_text = "256MiB",
     .min = 0,
     .max = 1099511627776.0,
     .help = "of a file once unpacked; 0 = no limit"},
    {.name = "max_sample_types",
     .type = FIELD_INT,
     .offset = WATCH(max_sample_types),
     .default_text = "64",
     .min = 1,
     .max = 1024,
     .help = "sample types of one profile"},
    {.name = "max_samples",
     .type = FIELD_INT,
     .offset = WATCH(max_samples),
     .default_text = "16000000",
     .min = 1,
     .max = 1e9,
     .unit = "samples",
     .help = "samples of one profile"},
    {.name = "max_stack_depth",
     .type = FIELD_INT,
     .offset = WATCH(max_stack_depth),
     .default_text = "65536",
     .min = 1,
     .max = 1e9,
     .unit = "locations",
     .help = "locations of one sample"},
    {.name = "max_labels",
     .type = FIELD_INT,
     .offset = WATCH(max_labels),
     .default_text = "1024",
     .min = 0,
     .max = 1e9,
     .unit = "labels",
     .help = "labels of one sample"},
    {.name = NULL},
};

static const struct field pprof_fields[] = {
    {.name = "file",
     .type = FIELD_STRUCT,
     .fields = file_fields,
     .present_offset = 1 + offsetof(struct pprof_settings, has_file),
     .help = "watch files"},
    {.name = "storage",
     .type = FIELD_STRING,
     .offset = offsetof(struct pprof_settings, storage),
     .help = "id of the storage extension that remembers what was sent; without it a restart sends all again"},
    {.name = "timestamp",
     .type = FIELD_ENUM,
     .offset = WATCH(options.timestamp),
     .default_text = "profile",
     .names = file_timestamp_names,
     .help = "whose time a profile gets; profile falls back to the file's where there is none"},
    {.name = "original_payload",
     .type = FIELD_BOOL,
     .offset = WATCH(options.original_payload),
     .default_text = "false",
     .help = "send the file itself along with what was decoded from it"},
    {.name = "limits", .type = FIELD_STRUCT, .fields = limit_fields, .help = "what a file may hold"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct pprof_settings *s = settings;
    if (!s->has_file)
        check_error(check, "", "has nothing to read: add file: {include: \"/folder/**/*.pb.gz\"}");
    else if (s->file.include.count == 0)
        check_error(check, "file.include", "names no files: give a glob such as \"/folder/**/*.pb.gz\"");
    if (s->storage != NULL && !check->has_extension(check->arg, s->storage))
        check_error(check, "storage",
                    "no extension \"%s\" is started: define it under extensions: and list it in "
                    "service.extensions",
                    s->storage);
}

static const struct format *const pprof_formats[] = {&pprof_format, NULL};

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    (void)e;
    struct pprof_receiver *r = (struct pprof_receiver *)self;
    r->settings = settings;
    return ERR_OK;
}

// The set of what this receiver has sent, in the storage if one is named.
static enum err_code open_known(struct pprof_receiver *r, struct err *e)
{
    const struct component *c = &r->receiver.component;
    struct storage *storage = NULL;
    char name[256];
    snprintf(name, sizeof name, "receiver_%s", c->id);
    if (r->settings->storage == NULL) {
        log_warn(&c->log, "no storage is named: after a restart every file is sent again; set storage: to a "
                          "file_storage extension");
    } else {
        storage = c->env->find_storage(c->env->service, r->settings->storage, e);
        if (storage == NULL)
            return e->code;
    }
    return known_files_create(storage, name, clock_monotonic_nanos(c->env->clock), &r->known, e);
}

static enum err_code start(struct receiver *self, struct err *e)
{
    struct pprof_receiver *r = (struct pprof_receiver *)self;
    enum err_code rc = open_known(r, e);
    if (rc != ERR_OK)
        return rc;
    r->watch = file_watch_create(self, &r->settings->file, pprof_formats, r->known);
    return ERR_OK;
}

static void close_receiver(struct receiver *self)
{
    struct pprof_receiver *r = (struct pprof_receiver *)self;
    if (r->watch != NULL)
        file_watch_close(r->watch);
}

static void on_watch_stopped(void *arg)
{
    struct pprof_receiver *r = arg;
    r->watch = NULL;
    component_stopped(&r->receiver.component);
}

static void stop(struct receiver *self)
{
    struct pprof_receiver *r = (struct pprof_receiver *)self;
    if (r->watch == NULL)
        component_stopped(&self->component);
    else
        file_watch_stop(r->watch, on_watch_stopped, r);
}

static void destroy(struct receiver *self)
{
    struct pprof_receiver *r = (struct pprof_receiver *)self;
    known_files_destroy(&r->known);
}

const struct receiver_module pprof_receiver = {
    .module =
        {
            .type = "pprof",
            .help = "Reads profiles in pprof format from files.",
            .settings_size = sizeof(struct pprof_settings),
            .instance_size = sizeof(struct pprof_receiver),
            .fields = pprof_fields,
            .check = check_settings,
        },
    .transport = "file",
    .create = create,
    .start = start,
    .close = close_receiver,
    .stop = stop,
    .destroy = destroy,
};
