// SPDX-License-Identifier: Apache-2.0
#include "exporters/file_encode.h"

#include "base/clock.h"
#include "base/hash.h"
#include "codec/pprof.h"
#include "exporters/file_write.h"
#include "profile/merge.h"

#include <inttypes.h>
#include <time.h>

enum { MAX_MESSAGE_BYTES = 1 << 30, NAME_MAX_BYTES = 200, SERVICE_MAX = 80, TYPE_MAX = 40, MAX_SAMPLE_TYPES = 256 };

void file_encoder_fini(struct file_encoder *x)
{
    worker_compressors_fini(&x->compressors);
}

static enum err_code add_body(struct file_encoder *x, struct bytes raw, struct buf *out, struct err *e)
{
    if (x->compression == COMPRESSION_NONE) {
        buf_add(out, raw.data, raw.len);
        return ERR_OK;
    }
    return worker_compressors_run(&x->compressors, raw, out, e);
}

// What of a batch a record stands for.
struct share {
    uint64_t profiles, samples;
    size_t raw_bytes;
};

static enum err_code add_record(const struct file_encoder *x, struct buf *data, const struct share *share,
                                struct record_list *out, struct err *e)
{
    if (data->too_large)
        return err_set(e, ERR_LIMIT, "a message of %zu bytes is more than the %d allowed: send less at once",
                       share->raw_bytes, MAX_MESSAGE_BYTES);
    if (!buf_ok(data))
        return err_set(e, ERR_MEMORY, "out of memory for an encoded message of %zu bytes", share->raw_bytes);
    size_t len;
    uint8_t *bytes = buf_take(data, &len);
    struct record *r = record_create(bytes, len);
    r->compression = (unsigned)x->compression;
    r->raw_bytes = share->raw_bytes;
    r->profiles = share->profiles;
    r->samples = share->samples;
    record_list_add(out, r);
    return ERR_OK;
}

// --- messages and lines ---

static void put_length(uint8_t to[FILE_PREFIX_BYTES], size_t len)
{
    for (int i = 0; i < FILE_PREFIX_BYTES; i++)
        to[i] = (uint8_t)(len >> 8 * (FILE_PREFIX_BYTES - 1 - i));
}

static enum err_code run_format(const struct file_encoder *x, const struct batch *batch, struct buf *out, struct err *e)
{
    const struct encode_options all = {.sample_type = {NULL, 0}};
    struct encode_report report = {.lost = 0};
    return x->format->encode(batch, &all, out, &report, e);
}

static enum err_code encode_line(const struct file_encoder *x, const struct batch *batch, struct buf *data,
                                 size_t *raw_bytes_out, struct err *e)
{
    enum err_code rc = run_format(x, batch, data, e);
    *raw_bytes_out = data->len;
    buf_add_byte(data, '\n');
    return rc;
}

static enum err_code encode_prefixed(struct file_encoder *x, const struct batch *batch, struct buf *data,
                                     size_t *raw_bytes_out, struct err *e)
{
    struct buf raw;
    buf_init(&raw, MAX_MESSAGE_BYTES);
    buf_add(data, "\0\0\0\0", FILE_PREFIX_BYTES);
    bool plain = x->compression == COMPRESSION_NONE;
    enum err_code rc = run_format(x, batch, plain ? data : &raw, e);
    *raw_bytes_out = plain ? data->len - FILE_PREFIX_BYTES : raw.len;
    if (rc == ERR_OK && !plain)
        rc = add_body(x, buf_bytes(&raw), data, e);
    buf_fini(&raw);
    if (rc == ERR_OK && buf_ok(data))
        put_length(data->data, data->len - FILE_PREFIX_BYTES);
    return rc;
}

static enum err_code encode_message(struct file_encoder *x, const struct batch *batch, struct record_list *out,
                                    struct err *e)
{
    struct buf data;
    if (batch->resource_count == 0)
        return ERR_OK;
    buf_init(&data, MAX_MESSAGE_BYTES);
    struct share share = {.profiles = batch->profile_count, .samples = batch->sample_count};
    enum err_code rc = x->shape == SHAPE_LINES ? encode_line(x, batch, &data, &share.raw_bytes, e)
                                               : encode_prefixed(x, batch, &data, &share.raw_bytes, e);
    if (rc == ERR_OK)
        rc = add_record(x, &data, &share, out, e);
    buf_fini(&data);
    return rc;
}

// --- files in a folder ---

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

// A file to be: its first profile names it.
struct piece {
    const struct batch *batch;
    const struct resource *resource;
    const struct profile *profile;
    struct share share;
};

static const char *compression_extension(enum compression c)
{
    return c == COMPRESSION_GZIP ? ".gz" : c == COMPRESSION_ZSTD ? ".zst" : "";
}

// SERVICE-TYPE-TIME-HASH.pb.gz: written again, a profile replaces itself. A leading dot would hide the file.
static void make_name(const struct file_encoder *x, const struct piece *p, struct bytes raw, struct buf *name)
{
    const struct key_value *service =
        key_values_find(p->resource->attributes, p->resource->attribute_count, BYTES_LITERAL("service.name"));
    struct bytes text = {NULL, 0};
    if (service != NULL && service->value.kind == VALUE_STRING)
        text = service->value.bytes;
    add_name_part(name, text, SERVICE_MAX);
    if (name->len != 0 && name->data[0] == '.')
        name->data[0] = '_';
    buf_add_byte(name, '-');
    add_name_part(name, p->batch->dictionary->strings[p->profile->sample_type.type], TYPE_MAX);
    buf_add_byte(name, '-');
    add_name_time(name, p->profile->time_nanos);
    struct hash128 hash = hash_content(raw.data, raw.len);
    buf_add_format(name, "-%016" PRIx64 "%s%s", hash.high ^ hash.low, x->format->extensions[0],
                   compression_extension(x->compression));
}

// A record is a byte with the length of the name, the name, the content.
static enum err_code add_file(struct file_encoder *x, struct piece *p, struct bytes raw, struct record_list *out,
                              struct err *e)
{
    struct buf name, data;
    buf_init(&name, NAME_MAX_BYTES);
    buf_init(&data, MAX_MESSAGE_BYTES);
    make_name(x, p, raw, &name);
    buf_add_byte(&data, (uint8_t)name.len);
    buf_add(&data, name.data, name.len);
    enum err_code rc = buf_ok(&name) ? add_body(x, raw, &data, e) : err_set(e, ERR_MEMORY, "out of memory for a name");
    p->share.raw_bytes = raw.len;
    if (rc == ERR_OK)
        rc = add_record(x, &data, &p->share, out, e);
    buf_fini(&name);
    buf_fini(&data);
    return rc;
}

void file_record_split(struct bytes record, char name_out[FILE_NAME_BYTES], struct bytes *content_out)
{
    size_t len = record.data[0];
    memcpy(name_out, record.data + 1, len);
    name_out[len] = '\0';
    *content_out = (struct bytes){record.data + 1 + len, record.len - 1 - len};
}

// Profiles [first, first + count) of a scope as one pprof.
static enum err_code encode_pprof(struct file_encoder *x, struct piece *p, const struct scope *s, uint32_t first,
                                  uint32_t count, struct record_list *out, uint64_t *lost, struct err *e)
{
    struct buf raw;
    uint64_t lost_here = 0;
    buf_init(&raw, MAX_MESSAGE_BYTES);
    p->profile = &s->profiles[first];
    p->share.profiles = count;
    p->share.samples = (uint64_t)count * p->profile->columns->sample_count;
    enum err_code rc = pprof_encode(p->batch, s, first, count, &raw, &lost_here, e);
    if (rc == ERR_OK)
        rc = add_file(x, p, buf_bytes(&raw), out, e);
    buf_fini(&raw);
    *lost += lost_here;
    return rc;
}

static enum err_code encode_pprofs(struct file_encoder *x, const struct batch *batch, const struct resource *r,
                                   struct record_list *out, uint64_t *lost, struct err *e)
{
    enum err_code rc = ERR_OK;
    struct piece p = {.batch = batch, .resource = r};
    for (uint32_t i = 0; i < r->scope_count; i++)
        for (uint32_t first = 0, n; rc == ERR_OK && (n = pprof_group(r->scopes[i], first)) != 0; first += n)
            rc = encode_pprof(x, &p, r->scopes[i], first, n, out, lost, e);
    return rc;
}

// The first profile of each sample type of a resource, with what all of that type hold. Returns how many there are,
// more than MAX_SAMPLE_TYPES when there is no room for them.
static uint32_t find_types(const struct batch *batch, const struct resource *r, struct piece pieces[MAX_SAMPLE_TYPES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->scope_count; i++) {
        for (uint32_t k = 0; k < r->scopes[i]->profile_count; k++) {
            const struct profile *profile = &r->scopes[i]->profiles[k];
            uint32_t at = 0;
            while (at < count && pieces[at].profile->sample_type.type != profile->sample_type.type)
                at++;
            if (at == MAX_SAMPLE_TYPES)
                return MAX_SAMPLE_TYPES + 1;
            if (at == count)
                pieces[count++] = (struct piece){.batch = batch, .resource = r, .profile = profile};
            pieces[at].share.profiles++;
            pieces[at].share.samples += profile->columns->sample_count;
        }
    }
    return count;
}

// A file for each sample type of the one resource of `alone`.
static enum err_code encode_types(struct file_encoder *x, const struct batch *alone, struct record_list *out,
                                  struct err *e)
{
    struct piece pieces[MAX_SAMPLE_TYPES];
    enum err_code rc = ERR_OK;
    uint32_t count = find_types(alone, alone->resources[0], pieces);
    if (count > MAX_SAMPLE_TYPES)
        return err_set(e, ERR_LIMIT, "a resource has more than %d sample types, a file each is too many",
                       MAX_SAMPLE_TYPES);
    for (uint32_t i = 0; rc == ERR_OK && i < count; i++) {
        const struct encode_options options = {.sample_type =
                                                   alone->dictionary->strings[pieces[i].profile->sample_type.type]};
        struct encode_report report = {.lost = 0};
        struct buf raw;
        buf_init(&raw, MAX_MESSAGE_BYTES);
        rc = x->format->encode(alone, &options, &raw, &report, e);
        if (rc == ERR_OK)
            rc = add_file(x, &pieces[i], buf_bytes(&raw), out, e);
        buf_fini(&raw);
    }
    return rc;
}

static enum err_code encode_folded(struct file_encoder *x, const struct batch *batch, uint32_t resource,
                                   struct record_list *out, struct err *e)
{
    struct batch *alone;
    enum err_code rc = batch_select_resources((struct batch *)(uintptr_t)batch, resource, 1, &alone, e);
    if (rc != ERR_OK)
        return rc;
    rc = encode_types(x, alone, out, e);
    batch_unref(&alone);
    return rc;
}

static enum err_code encode_files(struct file_encoder *x, const struct batch *batch, struct record_list *out,
                                  struct err *e)
{
    enum err_code rc = ERR_OK;
    uint64_t lost = 0;
    for (uint32_t i = 0; rc == ERR_OK && i < batch->resource_count; i++)
        rc = x->format == &pprof_format ? encode_pprofs(x, batch, batch->resources[i], out, &lost, e)
                                        : encode_folded(x, batch, i, out, e);
    if (lost != 0)
        log_warn(x->log, "%" PRIu64 " attribute values have no place in pprof", lost);
    return rc;
}

enum err_code file_encode(struct file_encoder *x, const struct batch *batch, struct record_list *out, struct err *e)
{
    return x->shape == SHAPE_FOLDER ? encode_files(x, batch, out, e) : encode_message(x, batch, out, e);
}
