// SPDX-License-Identifier: Apache-2.0
// Folded stacks: from files, watched as those of the pprof receiver, or from standard input as they come.
#include "receivers/file_receiver.h"
#include "receivers/stdin_reader.h"

#include <unistd.h>

struct folded_settings {
    struct file_receiver_settings files;
    bool has_stdin;
    struct stdin_settings standard_input;
};

struct folded_receiver {
    struct file_receiver files;
    const struct folded_settings *settings;
    struct profile_file_options options; // of what comes from standard input
    struct stdin_reader *reader;
};

static const struct format *const folded_formats[] = {&folded_format, NULL};
static const char *const end_names[] = {[STDIN_STOP] = "stop", [STDIN_KEEP] = "keep", NULL};

#define STDIN(member) offsetof(struct folded_settings, standard_input.member)

static const struct field stdin_fields[] = {
    {.name = "interval",
     .type = FIELD_DURATION,
     .offset = STDIN(interval_nanos),
     .default_text = "10s",
     .min = 10e6,
     .max = 86400e9,
     .help = "what came in this time is sent as one profile"},
    {.name = "max_size",
     .type = FIELD_SIZE,
     .offset = STDIN(max_bytes),
     .default_text = "16MiB",
     .min = 4096,
     .max = 1073741824.0,
     .help = "of the text of one profile; more is sent before the interval is over"},
    {.name = "at_end",
     .type = FIELD_ENUM,
     .offset = STDIN(at_end),
     .default_text = "stop",
     .names = end_names,
     .help = "of the input: stop sends what is left and ends the program, keep goes on with the other receivers"},
    {.name = NULL},
};

static const struct field folded_fields[] = {
    FILE_RECEIVER_FIELDS,
    {.name = "stdin",
     .type = FIELD_STRUCT,
     .fields = stdin_fields,
     .present_offset = 1 + offsetof(struct folded_settings, has_stdin),
     .help = "read standard input"},
    FOLDED_FIELDS(offsetof(struct folded_settings, files.file.options.folded)),
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    static const char example[] = "/folder/**/*.folded";
    const struct folded_settings *s = settings;
    if (!s->files.has_file && !s->has_stdin)
        check_error(check, "", "has nothing to read: add stdin: {} or file: {include: \"%s\"}", example);
    file_receiver_check(&s->files, check, example);
}

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    (void)e;
    struct folded_receiver *r = (struct folded_receiver *)self;
    r->settings = settings;
    r->files.settings = &r->settings->files;
    r->options = file_watch_options(&r->settings->files.file, folded_formats);
    r->options.format = &folded_format;
    return ERR_OK;
}

static enum err_code start(struct receiver *self, struct err *e)
{
    struct folded_receiver *r = (struct folded_receiver *)self;
    enum err_code rc = file_receiver_start(&r->files, folded_formats, e);
    if (rc == ERR_OK && r->settings->has_stdin)
        rc = stdin_reader_create(self, STDIN_FILENO, &r->settings->standard_input, &r->options, &r->reader, e);
    return rc;
}

static void close_receiver(struct receiver *self)
{
    struct folded_receiver *r = (struct folded_receiver *)self;
    file_receiver_close(self);
    if (r->reader != NULL)
        stdin_reader_close(r->reader);
}

static void on_reader_stopped(void *arg)
{
    struct folded_receiver *r = arg;
    r->reader = NULL;
    file_receiver_stop(&r->files.receiver);
}

static void stop(struct receiver *self)
{
    struct folded_receiver *r = (struct folded_receiver *)self;
    if (r->reader != NULL)
        stdin_reader_stop(r->reader, on_reader_stopped, r);
    else
        on_reader_stopped(r);
}

const struct receiver_module folded_receiver = {
    .module =
        {
            .type = "folded",
            .help = "Reads folded stacks from files or standard input.",
            .settings_size = sizeof(struct folded_settings),
            .instance_size = sizeof(struct folded_receiver),
            .fields = folded_fields,
            .check = check_settings,
        },
    .transports = {"file"},
    .create = create,
    .start = start,
    .close = close_receiver,
    .stop = stop,
    .destroy = file_receiver_destroy,
};
