// SPDX-License-Identifier: Apache-2.0
// Writes what passes to files: OTLP messages one behind the other, or a pprof file per profile. Encoded on
// the workers; written by libuv's threads, one write at a time, so that messages keep their order.
#include "base/folder.h"
#include "base/hash.h"
#include "base/mem.h"
#include "codec/otlp.h"
#include "codec/pprof.h"
#include "exporters/exporters.h"
#include "exporters/file_write.h"
#include "exporters/worker_compressors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_MESSAGE_BYTES = 1 << 30, NAME_MAX_BYTES = 200, SERVICE_MAX = 80, TYPE_MAX = 40 };

enum file_format { FORMAT_OTLP_PROTO, FORMAT_PPROF, FORMAT_PROTO, FORMAT_JSON };
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
    bool pprof;
    enum compression compression;
    struct worker_compressors compressors;
    struct file_write *head, **tail; // head is under way while busy
    bool busy;
    uv_work_t work;
    struct bytes data; // of the record under way
    struct err result;
};

#define SETTING(member) offsetof(struct file_settings, member)

static const char *const format_names[] = {[FORMAT_OTLP_PROTO] = "otlp_proto",
                                           [FORMAT_PPROF] = "pprof",
                                           [FORMAT_PROTO] = "proto",
                                           [FORMAT_JSON] = "json",
                                           NULL};
static const char *const compression_names[] = {
    [FILE_DEFAULT] = "default", [FILE_NONE] = "none", [FILE_GZIP] = "gzip", [FILE_ZSTD] = "zstd", NULL};

static const struct field file_fields[] = {
    {.name = "path",
     .type = FIELD_STRING,
     .offset = SETTING(path),
     .required = true,
     .help = "the file for otlp_proto, the folder for pprof"},
    {.name = "format",
     .type = FIELD_ENUM,
     .offset = SETTING(format),
     .default_text = "otlp_proto",
     .names = format_names,
     .help = "otlp_proto (or proto): messages in one file; pprof: one file per profile"},
    {.name = "compression",
     .type = FIELD_ENUM,
     .offset = SETTING(compression),
     .default_text = "default",
     .names = compression_names,
     .help = "of each message or pprof file; default: none for otlp_proto, gzip for pprof"},
    {.name = "append",
     .type = FIELD_BOOL,
     .offset = SETTING(append),
     .default_text = "true",
     .help = "otlp_proto: go on in the file that is there; false empties it at start"},
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
    if (s->format == FORMAT_JSON)
        check_error(check, "format", "\"json\" comes with a later release; use otlp_proto or pprof");
    if (s->format == FORMAT_PPROF && s->compression == FILE_ZSTD)
        check_error(check, "compression", "pprof files are read as gzip or uncompressed; use gzip or none");
    if (folder_mode_parse(s->directory_permissions) == 0)
        check_error(check, "directory_permissions", "must be an octal mode such as \"0755\", found \"%s\"",
                    s->directory_permissions);
}

static enum compression wanted_compression(const struct file_settings *s)
{
    if (s->compression == FILE_DEFAULT)
        return s->format == FORMAT_PPROF ? COMPRESSION_GZIP : COMPRESSION_NONE;
    return s->compression == FILE_GZIP   ? COMPRESSION_GZIP
           : s->compression == FILE_ZSTD ? COMPRESSION_ZSTD
                                         : COMPRESSION_NONE;
}

static enum err_code create(struct exporter *self, const void *settings, struct err *e)
{
    (void)e;
    struct file_exporter *x = (struct file_exporter *)self;
    x->settings = settings;
    x->pprof = x->settings->format == FORMAT_PPROF;
    x->compression = wanted_compression(x->settings);
    worker_compressors_init(&x->compressors, workers_count(self->component.env->workers), x->compression, 0);
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
    char *folder = x->pprof ? mem_copy_text(path) : file_folder_of(path);
    enum err_code rc = prepare_folder(x, folder, e);
    free(folder);
    if (rc == ERR_OK && !x->pprof)
        rc = file_open_messages(path, x->settings->append, &cut, e);
    if (cut != 0)
        log_warn(&self->component.log, "half a message of %" PRIu64 " bytes was cut off the end of %s", cut, path);
    return rc;
}

// --- encoding ---

static enum err_code add_body(struct file_exporter *x, struct bytes raw, struct buf *out, struct err *e)
{
    if (x->compression == COMPRESSION_NONE) {
        buf_add(out, raw.data, raw.len);
        return ERR_OK;
    }
    return worker_compressors_run(&x->compressors, raw, out, e);
}

static enum err_code add_record(struct file_exporter *x, struct buf *data, struct record_list *out, uint64_t profiles,
                                uint64_t samples, size_t raw_bytes, struct err *e)
{
    if (!buf_ok(data))
        return err_set(e, data->too_large ? ERR_LIMIT : ERR_MEMORY, "no room for an encoded message of %zu bytes",
                       raw_bytes);
    size_t len;
    uint8_t *bytes = buf_take(data, &len);
    struct record *r = record_create(bytes, len);
    r->compression = (unsigned)x->compression;
    r->raw_bytes = raw_bytes;
    r->profiles = profiles;
    r->samples = samples;
    record_list_add(out, r);
    return ERR_OK;
}

static void put_length(uint8_t to[FILE_PREFIX_BYTES], size_t len)
{
    for (int i = 0; i < FILE_PREFIX_BYTES; i++)
        to[i] = (uint8_t)(len >> 8 * (FILE_PREFIX_BYTES - 1 - i));
}

static enum err_code encode_otlp(struct file_exporter *x, const struct batch *batch, struct record_list *out,
                                 struct err *e)
{
    struct buf raw, data;
    if (batch->resource_count == 0)
        return ERR_OK;
    buf_init(&raw, MAX_MESSAGE_BYTES);
    buf_init(&data, MAX_MESSAGE_BYTES);
    buf_add(&data, "\0\0\0\0", FILE_PREFIX_BYTES);
    bool plain = x->compression == COMPRESSION_NONE;
    enum err_code rc = otlp_encode(batch, plain ? &data : &raw, e);
    size_t raw_bytes = plain ? data.len - FILE_PREFIX_BYTES : raw.len;
    if (rc == ERR_OK && !plain)
        rc = add_body(x, buf_bytes(&raw), &data, e);
    buf_fini(&raw);
    if (rc == ERR_OK && buf_ok(&data))
        put_length(data.data, data.len - FILE_PREFIX_BYTES);
    if (rc == ERR_OK)
        rc = add_record(x, &data, out, batch->profile_count, batch->sample_count, raw_bytes, e);
    buf_fini(&data);
    return rc;
}

static void add_name_part(struct buf *name, struct bytes text, size_t max)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    for (size_t i = 0; i < text.len && i < max; i++)
        buf_add_byte(name, text.data[i] != '\0' && strchr(allowed, text.data[i]) != NULL ? text.data[i] : '_');
    if (text.len == 0)
        buf_add_text(name, "unknown");
}

static void add_name_time(struct buf *name, uint64_t nanos)
{
    time_t seconds = (time_t)(nanos / NANOS_PER_SECOND);
    struct tm t;
    char text[32] = "";
    gmtime_r(&seconds, &t);
    strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &t);
    buf_add_text(name, text);
}

struct pprof_piece {
    const struct batch *batch;
    const struct resource *resource;
    const struct scope *scope;
    uint32_t first, count;
};

// SERVICE-TYPE-TIME-HASH.pb.gz: written again, a profile replaces itself. A leading dot would hide the file.
static void make_name(const struct file_exporter *x, const struct pprof_piece *p, struct bytes raw, struct buf *name)
{
    const struct profile *profile = &p->scope->profiles[p->first];
    const struct key_value *service =
        key_values_find(p->resource->attributes, p->resource->attribute_count, BYTES_LITERAL("service.name"));
    struct bytes text = {NULL, 0};
    if (service != NULL && service->value.kind == VALUE_STRING)
        text = service->value.bytes;
    add_name_part(name, text, SERVICE_MAX);
    if (name->len != 0 && name->data[0] == '.')
        name->data[0] = '_';
    buf_add_byte(name, '-');
    add_name_part(name, p->batch->dictionary->strings[profile->sample_type.type], TYPE_MAX);
    buf_add_byte(name, '-');
    add_name_time(name, profile->time_nanos);
    struct hash128 hash = hash_content(raw.data, raw.len);
    buf_add_format(name, "-%016" PRIx64 "%s", hash.high ^ hash.low,
                   x->compression == COMPRESSION_GZIP ? ".pb.gz" : ".pb");
}

// A record is a byte with the length of the name, the name, the content.
static enum err_code add_pprof_record(struct file_exporter *x, const struct pprof_piece *p, struct bytes raw,
                                      struct record_list *out, struct err *e)
{
    struct buf name, data;
    buf_init(&name, NAME_MAX_BYTES);
    buf_init(&data, MAX_MESSAGE_BYTES);
    make_name(x, p, raw, &name);
    buf_add_byte(&data, (uint8_t)name.len);
    buf_add(&data, name.data, name.len);
    enum err_code rc = buf_ok(&name) ? add_body(x, raw, &data, e) : err_set(e, ERR_MEMORY, "out of memory for a name");
    uint64_t samples = (uint64_t)p->count * p->scope->profiles[p->first].columns->sample_count;
    if (rc == ERR_OK)
        rc = add_record(x, &data, out, p->count, samples, raw.len, e);
    buf_fini(&name);
    buf_fini(&data);
    return rc;
}

static enum err_code encode_piece(struct file_exporter *x, const struct pprof_piece *p, struct record_list *out,
                                  uint64_t *lost, struct err *e)
{
    struct buf raw;
    uint64_t lost_here = 0;
    buf_init(&raw, MAX_MESSAGE_BYTES);
    enum err_code rc = pprof_encode(p->batch, p->scope, p->first, p->count, &raw, &lost_here, e);
    if (rc == ERR_OK)
        rc = add_pprof_record(x, p, buf_bytes(&raw), out, e);
    buf_fini(&raw);
    *lost += lost_here;
    return rc;
}

static enum err_code encode_scope(struct file_exporter *x, struct pprof_piece p, struct record_list *out,
                                  uint64_t *lost, struct err *e)
{
    enum err_code rc = ERR_OK;
    for (; rc == ERR_OK && (p.count = pprof_group(p.scope, p.first)) != 0; p.first += p.count)
        rc = encode_piece(x, &p, out, lost, e);
    return rc;
}

static enum err_code encode_pprof(struct file_exporter *x, const struct batch *batch, struct record_list *out,
                                  struct err *e)
{
    enum err_code rc = ERR_OK;
    uint64_t lost = 0;
    for (uint32_t i = 0; i < batch->resource_count; i++) {
        const struct resource *r = batch->resources[i];
        for (uint32_t j = 0; rc == ERR_OK && j < r->scope_count; j++)
            rc = encode_scope(x, (struct pprof_piece){batch, r, r->scopes[j], 0, 0}, out, &lost, e);
    }
    if (lost != 0)
        log_warn(&x->exporter.component.log, "%" PRIu64 " attribute values have no place in pprof", lost);
    return rc;
}

static enum err_code encode(struct exporter *self, const struct batch *batch, struct record_list *out, struct err *e)
{
    struct file_exporter *x = (struct file_exporter *)self;
    return x->pprof ? encode_pprof(x, batch, out, e) : encode_otlp(x, batch, out, e);
}

// --- writing ---

static void write_pprof(struct file_exporter *x)
{
    char name[UINT8_MAX + 1];
    size_t len = x->data.data[0];
    memcpy(name, x->data.data + 1, len);
    name[len] = '\0';
    struct bytes content = {x->data.data + 1 + len, x->data.len - 1 - len};
    (void)!file_replace(x->settings->path, name, content, &x->result);
}

// One of libuv's threads; the loop touches none of this meanwhile.
static void run_write(uv_work_t *work)
{
    struct file_exporter *x = CONTAINER_OF(work, struct file_exporter, work);
    x->result.code = ERR_OK;
    if (x->pprof)
        write_pprof(x);
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
    worker_compressors_fini(&x->compressors);
}

const struct exporter_module file_exporter = {
    .module =
        {
            .type = "file",
            .help = "Writes OTLP messages to a file, or pprof files into a folder.",
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
