// SPDX-License-Identifier: Apache-2.0
#include "receivers/file_receiver.h"

#include <stdio.h>

static const char *const start_names[] = {[START_AT_BEGINNING] = "beginning", [START_AT_END] = "end", NULL};
static const char *const after_names[] = {[AFTER_KEEP] = "keep", [AFTER_DELETE] = "delete", NULL};
#define WATCH(member) offsetof(struct file_receiver_settings, file.member)
#define LIMIT(member) WATCH(options.limits.member)
#define HOURS 3600e9

const struct field file_receiver_file_fields[] = {
    {.name = "include",
     .type = FIELD_STRING_LIST,
     .offset = WATCH(include),
     .required = true,
     .help = "globs of the files to send; ** crosses folders"},
    {.name = "exclude", .type = FIELD_STRING_LIST, .offset = WATCH(exclude), .help = "globs of files to leave alone"},
    {.name = "match",
     .type = FIELD_STRING,
     .offset = WATCH(match),
     .help = "regular expression (RE2) searched in a file's path: its named groups become resource attributes, as in "
             "/(?P<service>[^/]+)/[^/]*$"},
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

const struct field file_receiver_limit_fields[] = {
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
    {.name = "max_line_size",
     .type = FIELD_SIZE,
     .offset = WATCH(max_line_bytes),
     .default_text = "1MiB",
     .min = 256,
     .max = 1e9,
     .help = "a longer line of a text format is passed over"},
    {.name = NULL},
};

void file_receiver_check(const struct file_receiver_settings *s, const struct component_check *check,
                         const char *example)
{
    if (s->has_file && s->file.include.count == 0)
        check_error(check, "file.include", "names no files: give a glob such as \"%s\"", example);
    struct path_attributes *match = NULL;
    struct err e;
    if (s->file.match != NULL && path_attributes_create(s->file.match, &match, &e) != ERR_OK)
        check_error(check, "file.match", "%s", e.text);
    path_attributes_destroy(&match);
    if (s->storage != NULL && !check->has_extension(check->arg, s->storage))
        check_error(check, "storage",
                    "no extension \"%s\" is started: define it under extensions: and list it in "
                    "service.extensions",
                    s->storage);
}

// The set of what this receiver has sent, in the storage if one is named.
static enum err_code open_known(struct file_receiver *r, struct err *e)
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

enum err_code file_receiver_start(struct file_receiver *r, const struct format *const *allowed, struct err *e)
{
    if (!r->settings->has_file)
        return ERR_OK;
    const char *match = r->settings->file.match;
    enum err_code rc = match != NULL ? path_attributes_create(match, &r->match, e) : ERR_OK;
    if (rc == ERR_OK)
        rc = open_known(r, e);
    if (rc == ERR_OK)
        r->watch = file_watch_create(&r->receiver, &r->settings->file, allowed, r->match, r->known);
    return rc;
}

void file_receiver_close(struct receiver *self)
{
    struct file_receiver *r = (struct file_receiver *)self;
    if (r->watch != NULL)
        file_watch_close(r->watch);
}

static void on_stopped(void *arg)
{
    component_stopped(arg);
}

void file_receiver_stop(struct receiver *self)
{
    struct file_receiver *r = (struct file_receiver *)self;
    struct file_watch *watch = r->watch;
    r->watch = NULL;
    if (watch == NULL)
        component_stopped(&self->component);
    else
        file_watch_stop(watch, on_stopped, &self->component);
}

void file_receiver_destroy(struct receiver *self)
{
    struct file_receiver *r = (struct file_receiver *)self;
    known_files_destroy(&r->known);
    path_attributes_destroy(&r->match);
}
