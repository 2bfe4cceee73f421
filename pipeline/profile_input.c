// SPDX-License-Identifier: Apache-2.0
#include "pipeline/profile_input.h"

#include "base/fd.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- names of formats ---

static const char *format_name(size_t wanted, bool read)
{
    for (const struct format *const *f = formats; *f != NULL; f++)
        if ((read ? (*f)->decode != NULL : (*f)->encode != NULL) && wanted-- == 0)
            return (*f)->name;
    return NULL;
}

const char *input_format_name(size_t i)
{
    return format_name(i, true);
}

const char *output_format_name(size_t i)
{
    return format_name(i, false);
}

const char *input_layout_name(size_t i)
{
    return i + 1 < OTLP_LAYOUTS ? otlp_layout_names[i + 1] : NULL;
}

// --- options ---

static enum err_code parse_rate(const char *text, double *out, struct err *e)
{
    char *end;
    *out = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(*out) || *out <= 0)
        return err_set(e, ERR_INVALID, "--sample-rate is a number of samples per second above 0, such as 99");
    return ERR_OK;
}

enum err_code input_folded_options(const struct input_options *o, struct folded_options *out, struct err *e)
{
    const char *rate = option_last(&o->sample_rate);
    *out = (struct folded_options){
        .sample_type = option_last(&o->sample_type),
        .sample_unit = option_last(&o->sample_unit),
        .leaf_first = o->leaf_first.count != 0,
        .missing_count_is_one = o->missing_count.count != 0,
    };
    return rate != NULL ? parse_rate(rate, &out->sample_rate, e) : ERR_OK;
}

// --- reading ---

static enum err_code read_all(int fd, const char *name, struct buf *out, struct err *e)
{
    if (fd_read_to_end(fd, out))
        return ERR_OK;
    if (buf_ok(out))
        return err_set(e, ERR_IO, "cannot read %s: %s", name, strerror(errno));
    return out->too_large ? err_set(e, ERR_LIMIT, "%s has more than %zu bytes: that is the most a command reads", name,
                                    out->max_bytes - FD_READ_BYTES)
                          : err_set(e, ERR_MEMORY, "out of memory after %zu bytes of %s", out->len, name);
}

static enum err_code read_file(const char *path, struct buf *out, struct err *e)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, "the standard input", out, e);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set(e, ERR_IO, "cannot open %s: %s", path, strerror(errno));
    enum err_code rc = read_all(fd, path, out, e);
    close(fd);
    return rc;
}

// --- what was noticed ---

struct note {
    const struct command_line *line;
    const char *path;
};

static void tell_note(void *arg, bool lost, const char *text)
{
    const struct note *n = arg;
    (void)lost;
    command_note(n->line, "%s: %s", n->path, text);
}

// --- both ---

// A person who names a file means it: larger ones than a service takes.
static struct decode_limits command_limits(void)
{
    struct decode_limits limits = decode_default_limits;
    limits.max_inflated_bytes = LIMIT_COMMAND_BYTES;
    limits.max_batch_bytes = LIMIT_COMMAND_BATCH_BYTES;
    limits.max_samples = LIMIT_COMMAND_SAMPLES;
    return limits;
}

static enum err_code decode(const struct command_line *line, const char *path, const struct input_options *o,
                            struct bytes data, struct batch **out, struct decode_report *report, struct err *e)
{
    struct decode_limits limits = command_limits();
    struct otlp_layout_rules layouts = {0};
    struct decode_options options = {.limits = &limits, .layouts = &layouts};
    const char *from = option_last(&o->from), *layout = option_last(&o->assume_layout);
    const struct format_choice choice = {.format = from != NULL ? format_find(from) : NULL, .path = path};
    enum err_code rc = input_folded_options(o, &options.folded, e);
    if (rc != ERR_OK)
        return rc;
    if (layout != NULL)
        (void)!otlp_layout_from_name(layout, &layouts.hints.assumed);
    rc = format_decode(data, &choice, &options, out, report, e);
    if (rc == ERR_OK && (*out)->profile_count == 0)
        command_note(line, "%s: there are no profiles in it", path);
    if (rc == ERR_OK)
        decode_report_tell(report, tell_note, &(struct note){line, path});
    else
        err_prefix(e, "%s", path);
    return rc;
}

enum err_code input_read(const struct command_line *line, const char *path, const struct input_options *o,
                         struct batch **out, struct decode_report *report, struct err *e)
{
    struct buf data;
    *out = NULL;
    *report = (struct decode_report){0};
    buf_init(&data, LIMIT_COMMAND_BYTES + FD_READ_BYTES);
    enum err_code rc = read_file(path, &data, e);
    if (rc == ERR_OK)
        rc = decode(line, path, o, buf_bytes(&data), out, report, e);
    buf_fini(&data);
    return rc;
}
