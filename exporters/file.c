// SPDX-License-Identifier: Apache-2.0
// Writes what passes to files: OTLP messages one behind the other, or a file per profile. Encoded on the workers;
// written by libuv's threads, one write at a time, so that messages keep their order.
#include "base/folder.h"
#include "base/mem.h"
#include "exporters/exporters.h"
#include "exporters/file_encode.h"
#include "exporters/file_write.h"

#include <inttypes.h>
#include <stdlib.h>

enum file_format {
    FORMAT_OTLP_PROTO,
    FORMAT_OTLP_JSON,
    FORMAT_PPROF,
    FORMAT_FOLDED,
    FORMAT_PROTO, // the Collector's names
    FORMAT_JSON,
};
enum file_compression { FILE_DEFAULT, FILE_NONE, FILE_GZIP, FILE_ZSTD };

struct file_settings {
    const char *path;
    int format;      // enum file_format
    int compression; // enum file_compression
    bool append, create_directory;
    const char *directory_permissions;
};

// A write that waits or runs.
struct file_write {
    struct file_write *next;
    struct send *send;
};

struct file_exporter {
    struct exporter exporter;
    const struct file_settings *settings;
    struct file_encoder encoder;
    struct file_write *head, **tail; // head is under way while busy
    bool busy;
    uv_work_t work;
    struct bytes data; // of the record under way
    struct err result;
};

#define SETTING(member) offsetof(struct file_settings, member)

static const char *const format_names[] = {[FORMAT_OTLP_PROTO] = "otlp_proto",
                                           [FORMAT_OTLP_JSON] = "otlp_json",
                                           [FORMAT_PPROF] = "pprof",
                                           [FORMAT_FOLDED] = "folded",
                                           [FORMAT_PROTO] = "proto",
                                           [FORMAT_JSON] = "json",
                                           NULL};
static const struct file_kind {
    const struct format *format;
    enum file_shape shape;        // uncompressed
    enum compression compression; // unless configured
} kinds[] = {
    [FORMAT_OTLP_PROTO] = {&otlp_proto_format, SHAPE_MESSAGES, COMPRESSION_NONE},
    [FORMAT_OTLP_JSON] = {&otlp_json_format, SHAPE_LINES, COMPRESSION_NONE},
    [FORMAT_PPROF] = {&pprof_format, SHAPE_FOLDER, COMPRESSION_GZIP},
    [FORMAT_FOLDED] = {&folded_format, SHAPE_FOLDER, COMPRESSION_NONE},
    [FORMAT_PROTO] = {&otlp_proto_format, SHAPE_MESSAGES, COMPRESSION_NONE},
    [FORMAT_JSON] = {&otlp_json_format, SHAPE_LINES, COMPRESSION_NONE},
};
static const char *const compression_names[] = {
    [FILE_DEFAULT] = "default", [FILE_NONE] = "none", [FILE_GZIP] = "gzip", [FILE_ZSTD] = "zstd", NULL};

static const struct field file_fields[] = {
    {.name = "path",
     .type = FIELD_STRING,
     .offset = SETTING(path),
     .required = true,
     .help = "the file for otlp_proto and otlp_json, the folder for pprof and folded"},
    {.name = "format",
     .type = FIELD_ENUM,
     .offset = SETTING(format),
     .default_text = "otlp_proto",
     .names = format_names,
     .help = "otlp_proto (or proto), otlp_json (or json): messages in one file; pprof, folded: a file per profile"},
    {.name = "compression",
     .type = FIELD_ENUM,
     .offset = SETTING(compression),
     .default_text = "default",
     .names = compression_names,
     .help = "of each message or file; default: gzip for pprof, none for the others"},
    {.name = "append",
     .type = FIELD_BOOL,
     .offset = SETTING(append),
     .default_text = "true",
     .help = "messages: go on in the file that is there; false empties it at start"},
    {.name = "create_directory",
     .type = FIELD_BOOL,
     .offset = SETTING(create_directory),
     .default_text = "false",
     .help = "create the folder if it is missing"},
    {.name = "directory_permissions",
     .type = FIELD_STRING,
     .offset = SETTING(directory_permissions),
     .default_text = "\"0755\"",
     .help = "of folders that are created, in octal"},
    {.name = "flush_interval", .type = FIELD_IGNORED, .help = "every message is on disk before it counts as sent"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct file_settings *s = settings;
    if (s->path != NULL && s->path[0] == '\0')
        check_error(check, "path", "must not be empty");
    if (s->format == FORMAT_PPROF && s->compression == FILE_ZSTD)
        check_error(check, "compression", "pprof files are read as gzip or uncompressed; use gzip or none");
    if (folder_mode_parse(s->directory_permissions) == 0)
        check_error(check, "directory_permissions", "must be an octal mode such as \"0755\", found \"%s\"",
                    s->directory_permissions);
}

static enum compression wanted_compression(const struct file_settings *s)
{
    static const enum compression chosen[] = {
        [FILE_NONE] = COMPRESSION_NONE, [FILE_GZIP] = COMPRESSION_GZIP, [FILE_ZSTD] = COMPRESSION_ZSTD};
    return s->compression == FILE_DEFAULT ? kinds[s->format].compression : chosen[s->compression];
}

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct file_exporter *x = (struct file_exporter *)self;
    x->settings = settings;
    const struct file_kind *kind = &kinds[x->settings->format];
    enum compression compression = wanted_compression(x->settings);
    bool lines = kind->shape == SHAPE_LINES && compression == COMPRESSION_NONE;
    x->encoder = (struct file_encoder){
        .format = kind->format,
        .shape = kind->shape == SHAPE_FOLDER ? SHAPE_FOLDER
                 : lines                     ? SHAPE_LINES
                                             : SHAPE_MESSAGES,
        .compression = compression,
        .log = &self->component.log,
    };
    worker_compressors_init(&x->encoder.compressors, workers_count(self->component.env->workers), compression, 0);
    x->tail = &x->head;
    return ERR_OK;
}

static enum err_code prepare_folder(const struct file_exporter *x, const char *folder, struct err *e)
{
    const struct file_settings *s = x->settings;
    if (s->create_directory)
        return folder_create(folder, folder_mode_parse(s->directory_permissions), e);
    uv_fs_t request;
    int rc = uv_fs_stat(NULL, &request, folder, NULL);
    bool is_folder = rc == 0 && (request.statbuf.st_mode & S_IFMT) == S_IFDIR;
    uv_fs_req_cleanup(&request);
    if (is_folder)
        return ERR_OK;
    return err_set(e, ERR_IO, "path: the folder %s %s", folder,
                   rc == UV_ENOENT ? "does not exist; create it or set create_directory: true"
                   : rc != 0       ? uv_strerror(rc)
                                   : "is not a folder");
}

static enum err_code start(struct exporter *self, struct err *e)
{
    struct file_exporter *x = (struct file_exporter *)self;
    const char *path = x->settings->path;
    uint64_t cut = 0;
    bool is_folder = x->encoder.shape == SHAPE_FOLDER;
    char *folder = is_folder ? mem_copy_text(path) : file_folder_of(path);
    enum err_code rc = prepare_folder(x, folder, e);
    free(folder);
    if (rc == ERR_OK && !is_folder)
        rc = file_open_messages(path, x->encoder.shape == SHAPE_LINES, x->settings->append, &cut, e);
    if (cut != 0)
        log_warn(&self->component.log, "half a message of %" PRIu64 " bytes was cut off the end of %s", cut, path);
    return rc;
}

static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    struct file_exporter *x = (struct file_exporter *)self;
    return file_encode(&x->encoder, batch, out, e);
}

// --- writing ---

static void write_file(struct file_exporter *x)
{
    char name[FILE_NAME_BYTES];
    struct bytes content;
    file_record_split(x->data, name, &content);
    (void)!file_replace(x->settings->path, name, content, &x->result);
}

// One of libuv's threads; the loop touches none of this meanwhile.
static void run_write(uv_work_t *work)
{
    struct file_exporter *x = CONTAINER_OF(work, struct file_exporter, work);
    x->result.code = ERR_OK;
    if (x->encoder.shape == SHAPE_FOLDER)
        write_file(x);
    else
        (void)!file_append(x->settings->path, x->data, &x->result);
}

static void begin_write(struct file_exporter *x);

static void on_written(uv_work_t *work, int status)
{
    (void)status; // never cancelled
    struct file_exporter *x = CONTAINER_OF(work, struct file_exporter, work);
    struct file_write *w = x->head;
    struct send *send = w->send;
    // Whatever the disk says may be mended: space, rights, a folder.
    struct verdict v = x->result.code == ERR_OK ? (struct verdict){.kind = VERDICT_OK}
                                                : verdict_make(VERDICT_RETRY, "%s", x->result.text);
    x->head = w->next;
    if (x->head == NULL)
        x->tail = &x->head;
    free(w);
    x->busy = false;
    begin_write(x);
    send_done(send, &v);
}

static void begin_write(struct file_exporter *x)
{
    if (x->busy || x->head == NULL)
        return;
    const struct record *r = send_record(x->head->send);
    x->busy = true;
    x->data = (struct bytes){r->data, r->len};
    CHECK(uv_queue_work(&x->exporter.component.loop->uv, &x->work, run_write, on_written) == 0);
}

static void send_write(struct exporter *self, struct send *s)
{
    struct file_exporter *x = (struct file_exporter *)self;
    struct file_write *w = MEM_NEW(struct file_write);
    w->send = s;
    *x->tail = w;
    x->tail = &w->next;
    begin_write(x);
}

// What runs ends by itself; what waits goes back.
static void cancel(struct exporter *self)
{
    struct file_exporter *x = (struct file_exporter *)self;
    if (x->head == NULL)
        return;
    struct file_write *waiting = x->head->next;
    x->head->next = NULL;
    x->tail = &x->head->next;
    const struct verdict ended = verdict_make(VERDICT_RETRY, "stopped before it was written");
    for (struct file_write *w = waiting, *next; w != NULL; w = next) {
        next = w->next;
        struct send *send = w->send;
        free(w);
        send_done(send, &ended);
    }
}

static void stop(struct exporter *self)
{
    CHECK(!((struct file_exporter *)self)->busy);
    component_stopped(&self->component);
}

static void destroy(struct exporter *self)
{
    struct file_exporter *x = (struct file_exporter *)self;
    file_encoder_fini(&x->encoder);
}

const struct exporter_module file_exporter = {
    .module =
        {
            .type = "file",
            .help = "Writes OTLP messages to a file, or pprof or folded files into a folder.",
            .settings_size = sizeof(struct file_settings),
            .instance_size = sizeof(struct file_exporter),
            .fields = file_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .encode = encode,
    .send = send_write,
    .cancel = cancel,
    .stop = stop,
    .destroy = destroy,
};
