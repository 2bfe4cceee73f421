// SPDX-License-Identifier: Apache-2.0
#include "receivers/import.h"

#include "base/fd.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_ON_WAY = 64,
    RETRY_MS = 5,
    LOST_AFTER = 10, // files given up in a row: the peer is gone, and thousands more would wait in vain
};

struct import_settings {
    struct config_strings paths;
    const char *format; // NULL = told from each file
    const char *match;  // NULL = none
    struct profile_file_options options;
};

struct import_file {
    struct profile_file file;
    struct import *import;
    size_t index;
};

struct import {
    struct receiver receiver;
    const struct import_settings *settings;
    struct profile_file_options options;
    struct import_observer observer;
    struct path_attributes *match;
    struct known_files *known;
    struct found_files found;
    struct buf standard_input; // what the path "-" stands for, read once
    // Indexes into found: those of this round, those for the next.
    size_t *round, *later;
    size_t round_count, later_count, next, on_way, ended;
    bool last_round;
    unsigned given_up; // files in a row
    struct job find_job;
    struct loop_task find_done;
    struct err find_error;
    uv_timer_t timer;
    bool begun, closed, stopping, finding;
    bool said_unmatched; // that a path does not match
};

#define SETTING(member) offsetof(struct import_settings, member)

static const struct field import_fields[] = {
    {.name = "paths", .type = FIELD_STRING_LIST, .offset = SETTING(paths), .help = "files and folders"},
    {.name = "timestamp",
     .type = FIELD_ENUM,
     .offset = SETTING(options.timestamp),
     .default_text = "profile",
     .names = file_timestamp_names,
     .help = "whose time a profile gets"},
    {.name = "dry_run",
     .type = FIELD_BOOL,
     .offset = SETTING(options.dry_run),
     .default_text = "false",
     .help = "read, but send nothing"},
    {.name = "max_file_size",
     .type = FIELD_SIZE,
     .offset = SETTING(options.max_file_bytes),
     .default_text = "1GiB",
     .help = "larger files are refused"},
    {.name = "format",
     .type = FIELD_STRING,
     .offset = SETTING(format),
     .help = "of the files; default: told from each"},
    {.name = "match",
     .type = FIELD_STRING,
     .offset = SETTING(match),
     .help = "expression searched in each path: its named groups become resource attributes"},
    FOLDED_FIELDS(SETTING(options.folded)),
    {.name = NULL},
};

static void send_more(struct import *m);

static bool is_given(const struct import *m, const char *path)
{
    for (size_t i = 0; i < m->settings->paths.count; i++)
        if (strcmp(file_path_plain(m->settings->paths.items[i]), path) == 0)
            return true;
    return false;
}

static void end(struct import *m)
{
    const struct component_env *env = m->receiver.component.env;
    m->closed = true; // a timer that still runs must not end it again
    int exit_code = m->observer.on_end(m->observer.arg);
    env->request_stop(env->service, exit_code == 0 && m->find_error.code != ERR_OK ? 1 : exit_code);
}

static void on_timer_closed(uv_handle_t *timer)
{
    struct import *m = timer->data;
    component_stopped(&m->receiver.component);
}

static void maybe_stopped(struct import *m)
{
    if (m->stopping && m->on_way == 0 && !m->finding && known_files_pending(m->known) == 0 &&
        !uv_is_closing((uv_handle_t *)&m->timer))
        uv_close((uv_handle_t *)&m->timer, on_timer_closed);
}

// A file that came too early: in the next round, if this one gets anything done.
static bool comes_again(const struct import *m, const struct profile_file *f)
{
    return (f->outcome == FILE_BUSY || f->outcome == FILE_IN_FLIGHT || f->outcome == FILE_CHANGED ||
            f->outcome == FILE_QUEUE_FULL) &&
           !m->closed && !m->last_round;
}

static void on_timer(uv_timer_t *timer)
{
    send_more(timer->data);
}

static void note_peer(struct import *m, enum file_outcome outcome)
{
    if (outcome == FILE_SENT || outcome == FILE_PARTIAL || outcome == FILE_REFUSED)
        m->given_up = 0;
    if (outcome != FILE_GAVE_UP || ++m->given_up != LOST_AFTER || m->closed)
        return;
    log_error(&m->receiver.component.log, "the last %d files were not delivered in time: the others are not tried",
              LOST_AFTER);
    end(m);
}

static void log_unmatched(struct import *m, const struct profile_file *f)
{
    if (!f->unmatched || m->said_unmatched)
        return;
    m->said_unmatched = true;
    log_warn(&m->receiver.component.log, "%s does not match --match: no attributes come from its path (said once)",
             f->path);
}

static void end_file(struct import *m, const struct profile_file *f)
{
    log_unmatched(m, f);
    if (f->outcome == FILE_SENT || f->outcome == FILE_PARTIAL) {
        profile_file_log_report(f);
        known_files_remember(m->known, &f->key, f->path, &f->identity, m->receiver.component.loop, NULL, NULL);
    }
    m->observer.on_file(m->observer.arg, f, is_given(m, f->path));
    m->ended++;
    note_peer(m, f->outcome);
}

static void on_outcome(struct profile_file *f)
{
    struct import_file *item = CONTAINER_OF(f, struct import_file, file);
    struct import *m = item->import;
    if (comes_again(m, f)) {
        m->found.items[item->index].identity = f->identity;
        m->later[m->later_count++] = item->index;
    } else {
        end_file(m, f);
    }
    m->on_way--;
    free(item);
    send_more(m);
    maybe_stopped(m);
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static struct bytes standard_input(const struct import *m)
{
    struct bytes content = buf_bytes(&m->standard_input);
    return content.len != 0 ? content : BYTES_LITERAL("");
}

static bool send_next(struct import *m)
{
    struct import_file *item = MEM_NEW(struct import_file);
    size_t index = m->round[m->next];
    item->import = m;
    item->index = index;
    item->file = (struct profile_file){
        .receiver = &m->receiver,
        .options = &m->options,
        .known = m->known,
        .path = m->found.items[index].path,
        .identity = m->found.items[index].identity,
        .on_outcome = on_outcome,
    };
    if (is_standard_input(item->file.path))
        item->file.content = standard_input(m);
    if (!profile_file_submit(&item->file)) {
        free(item);
        return false;
    }
    m->next++;
    m->on_way++;
    return true;
}

// The files that came too early; the last round is one that follows a round without any end.
static void begin_round(struct import *m)
{
    m->last_round = m->ended == 0;
    m->ended = 0;
    size_t *round = m->round;
    m->round = m->later;
    m->round_count = m->later_count;
    m->later = round;
    m->later_count = m->next = 0;
}

static void send_more(struct import *m)
{
    if (m->closed || m->finding)
        return;
    if (m->next == m->round_count && m->on_way == 0) {
        if (m->later_count == 0) {
            end(m);
            return;
        }
        begin_round(m);
    }
    while (m->next < m->round_count && m->on_way < MAX_ON_WAY) {
        if (!send_next(m)) {
            uv_timer_start(&m->timer, on_timer, RETRY_MS, 0);
            return;
        }
    }
}

static void first_round(struct import *m)
{
    m->round = mem_alloc(m->found.count * sizeof *m->round);
    m->later = mem_alloc(m->found.count * sizeof *m->later);
    m->round_count = m->found.count;
    for (size_t i = 0; i < m->found.count; i++)
        m->round[i] = i;
}

static void run_found(struct loop_task *task)
{
    struct import *m = CONTAINER_OF(task, struct import, find_done);
    m->finding = false;
    first_round(m);
    m->observer.on_found(m->observer.arg, m->found.count);
    send_more(m);
    maybe_stopped(m);
}

// To its end; blocks. The program that writes it ends with us: a terminal signals both.
static enum err_code read_standard_input(struct import *m, struct err *e)
{
    const struct buf *b = &m->standard_input;
    if (fd_read_to_end(STDIN_FILENO, &m->standard_input))
        return ERR_OK;
    if (buf_ok(b))
        return err_set(e, ERR_IO, "cannot read standard input: %s", strerror(errno));
    return b->too_large
               ? err_set(e, ERR_LIMIT, "standard input has more than %" PRIu64 " bytes, max_file_size allows no more",
                         m->options.max_file_bytes)
               : err_set(e, ERR_MEMORY, "out of memory for %zu bytes of standard input", b->len);
}

static void find_standard_input(struct import *m)
{
    for (size_t i = 0; i < m->found.count; i++) {
        if (!is_standard_input(m->found.items[i].path))
            continue;
        if (read_standard_input(m, &m->find_error) != ERR_OK)
            m->standard_input.len = 0;
        m->found.items[i].identity = (struct file_identity){
            .size = m->standard_input.len,
            .mtime_nanos = clock_wall_nanos(m->receiver.component.env->clock),
        };
    }
}

static void run_find(struct job *job)
{
    struct import *m = CONTAINER_OF(job, struct import, find_job);
    enum err_code rc = files_find_named(&m->settings->paths, &m->found, &m->find_error);
    if (rc == ERR_OK && m->found.truncated)
        err_set(&m->find_error, ERR_LIMIT, "only the first %d files are imported: name fewer folders at once",
                FILE_WALK_MAX);
    if (rc == ERR_OK)
        find_standard_input(m);
    if (m->find_error.code != ERR_OK)
        log_error(&m->receiver.component.log, "%s", m->find_error.text);
    m->find_done.run = run_found;
    loop_post(m->receiver.component.loop, &m->find_done);
}

void import_begin(struct component *c, const struct import_observer *observer)
{
    struct import *m = (struct import *)c;
    m->observer = *observer;
    m->finding = true;
    m->find_job.run = run_find;
    workers_submit(c->env->workers, &m->find_job);
}

static enum err_code create(struct receiver *self, const void *settings, struct err *e)
{
    struct import *m = (struct import *)self;
    m->settings = settings;
    m->options = m->settings->options;
    uint64_t max = m->options.max_file_bytes;
    buf_init(&m->standard_input, max == 0 || max > SIZE_MAX - FD_READ_BYTES ? SIZE_MAX : max + FD_READ_BYTES);
    m->options.limits = decode_default_limits;
    m->options.format = m->settings->format != NULL ? format_find(m->settings->format) : NULL;
    if (m->settings->format != NULL && m->options.format == NULL)
        return err_set(e, ERR_INVALID, "there is no format \"%s\"", m->settings->format);
    if (m->settings->match != NULL && path_attributes_create(m->settings->match, &m->match, e) != ERR_OK) {
        err_prefix(e, "match");
        return e->code;
    }
    m->options.match = m->match;
    return known_files_create(NULL, "import", 0, &m->known, e);
}

static enum err_code start(struct receiver *self, struct err *e)
{
    (void)e;
    struct import *m = (struct import *)self;
    CHECK(uv_timer_init(&self->component.loop->uv, &m->timer) == 0);
    m->timer.data = m;
    m->begun = true;
    return ERR_OK;
}

static void close_receiver(struct receiver *self)
{
    struct import *m = (struct import *)self;
    m->closed = true;
}

static void on_known_idle(void *arg)
{
    maybe_stopped(arg);
}

static void stop(struct receiver *self)
{
    struct import *m = (struct import *)self;
    m->stopping = true;
    if (!m->begun) {
        component_stopped(&self->component);
        return;
    }
    known_files_on_idle(m->known, on_known_idle, m);
    maybe_stopped(m);
}

static void destroy(struct receiver *self)
{
    struct import *m = (struct import *)self;
    known_files_destroy(&m->known);
    path_attributes_destroy(&m->match);
    found_files_fini(&m->found);
    buf_fini(&m->standard_input);
    free(m->round);
    free(m->later);
}

const struct receiver_module import_receiver = {
    .module =
        {
            .type = "import",
            .help = "Sends the files it is given, once.",
            .settings_size = sizeof(struct import_settings),
            .instance_size = sizeof(struct import),
            .fields = import_fields,
        },
    .transports = {"file"},
    .create = create,
    .start = start,
    .close = close_receiver,
    .stop = stop,
    .destroy = destroy,
};
