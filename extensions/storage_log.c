// SPDX-License-Identifier: Apache-2.0
#include "extensions/storage_log.h"

#include "base/folder.h"
#include "base/hash.h"
#include "base/index_table.h"
#include "base/limits.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A record: magic, length of the key, length of the value (u32 each), checksum of the lengths and both
// (u64), key, value; numbers little-endian.
enum { HEADER_BYTES = 20, LENGTHS_AT = 4, CHECKSUM_AT = 12 };
#define MAGIC 0x31534652u // "RFS1"

static enum err_code fail(struct err *e, const char *what, const char *path)
{
    return err_set(e, ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static void put_number(uint8_t *to, uint64_t n, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(n >> 8 * i);
}

static uint64_t get_number(const uint8_t *from, int bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < bytes; i++)
        n |= (uint64_t)from[i] << 8 * i;
    return n;
}

// --- the records of a file in memory ---

struct live { // the last record of a key
    struct bytes key, value;
};

struct content {
    uint8_t *data;
    size_t len, whole; // whole: where the last good record ends
    struct live *items;
    size_t count, capacity;
    struct index_table index;
    uint64_t live_bytes;
};

static void content_fini(struct content *c)
{
    free(c->data);
    free(c->items);
    index_table_fini(&c->index);
    *c = (struct content){.data = NULL};
}

static uint64_t checksum(const uint8_t *record, struct bytes key, struct bytes value)
{
    uint64_t lengths = get_number(record + LENGTHS_AT, 8);
    uint64_t h = hash_mix(hash_content(key.data, key.len).low, lengths);
    return hash_mix(h, hash_content(value.data, value.len).low);
}

// The record at `at`; its length, 0 if none that is whole stands there.
static size_t parse_record(const struct content *c, size_t at, struct live *out)
{
    const uint8_t *r = c->data + at;
    size_t left = c->len - at;
    if (left < HEADER_BYTES || get_number(r, 4) != MAGIC)
        return 0;
    size_t key_len = (size_t)get_number(r + LENGTHS_AT, 4), value_len = (size_t)get_number(r + LENGTHS_AT + 4, 4);
    if (key_len > STORAGE_KEY_MAX || value_len > STORAGE_VALUE_MAX || key_len + value_len > left - HEADER_BYTES)
        return 0;
    out->key = (struct bytes){r + HEADER_BYTES, key_len};
    out->value = (struct bytes){r + HEADER_BYTES + key_len, value_len};
    if (get_number(r + CHECKSUM_AT, 8) != checksum(r, out->key, out->value))
        return 0;
    return HEADER_BYTES + key_len + value_len;
}

static bool content_put(struct content *c, const struct live *l)
{
    if (!index_table_reserve(&c->index))
        return false;
    uint64_t hash = hash_bytes(l->key.data, l->key.len);
    uint32_t slot = index_table_start(&c->index, hash), id;
    for (; index_table_next(&c->index, hash, &slot, &id); index_table_skip(&c->index, &slot)) {
        if (!bytes_equal(c->items[id].key, l->key))
            continue;
        c->items[id] = *l;
        return true;
    }
    void *items = c->items;
    if (!mem_try_grow(&items, &c->capacity, c->count + 1, sizeof *c->items, UINT32_MAX - 1))
        return false;
    c->items = items;
    c->items[c->count] = *l;
    index_table_insert(&c->index, hash, slot, (uint32_t)c->count++);
    return true;
}

static bool content_index(struct content *c)
{
    struct live l;
    for (size_t len; (len = parse_record(c, c->whole, &l)) != 0; c->whole += len)
        if (!content_put(c, &l))
            return false;
    for (size_t i = 0; i < c->count; i++)
        if (c->items[i].value.len != 0)
            c->live_bytes += HEADER_BYTES + c->items[i].key.len + c->items[i].value.len;
    return true;
}

static bool read_all(int fd, uint8_t *to, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = pread(fd, to + at, len - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static enum err_code content_read(struct content *c, const struct storage_log *l, size_t len, struct err *e)
{
    *c = (struct content){.len = len};
    c->data = mem_try_alloc(len + 1);
    if (c->data == NULL)
        return err_set(e, ERR_MEMORY, "no memory to read the %zu bytes of %s", len, l->path);
    if (!read_all(l->fd, c->data, len))
        return fail(e, "read", l->path);
    if (!content_index(c))
        return err_set(e, ERR_MEMORY, "no memory for what %s holds", l->path);
    return ERR_OK;
}

// --- writing ---

static bool write_at(int fd, struct bytes data, uint64_t at)
{
    while (data.len != 0) {
        ssize_t n = pwrite(fd, data.data, data.len, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data.data += n;
        data.len -= (size_t)n;
        at += (uint64_t)n;
    }
    return true;
}

static uint8_t *make_record(struct bytes key, struct bytes value)
{
    uint8_t *r = mem_try_alloc(HEADER_BYTES + key.len + value.len);
    if (r == NULL)
        return NULL;
    put_number(r, MAGIC, 4);
    put_number(r + LENGTHS_AT, key.len, 4);
    put_number(r + LENGTHS_AT + 4, value.len, 4);
    put_number(r + CHECKSUM_AT, checksum(r, key, value), 8);
    if (key.len != 0)
        memcpy(r + HEADER_BYTES, key.data, key.len);
    if (value.len != 0)
        memcpy(r + HEADER_BYTES + key.len, value.data, value.len);
    return r;
}

// Nothing may stand behind `size`: it could pass for records.
static bool cut_back(struct storage_log *l, uint64_t size)
{
    l->size = size;
    l->needs_cut = ftruncate(l->fd, (off_t)size) != 0;
    return !l->needs_cut;
}

enum err_code storage_log_append(struct storage_log *l, struct bytes key, struct bytes value, struct err *e)
{
    if (key.len > STORAGE_KEY_MAX || value.len > STORAGE_VALUE_MAX)
        return err_set(e, ERR_LIMIT, "%s: a key of %zu bytes (at most %d) with a value of %zu bytes (at most %d)",
                       l->path, key.len, STORAGE_KEY_MAX, value.len, STORAGE_VALUE_MAX);
    if (l->needs_cut && !cut_back(l, l->size))
        return fail(e, "write", l->path);
    uint8_t *record = make_record(key, value);
    if (record == NULL)
        return err_set(e, ERR_MEMORY, "no memory for a record of %s", l->path);
    size_t len = HEADER_BYTES + key.len + value.len;
    bool ok = write_at(l->fd, (struct bytes){record, len}, l->size);
    free(record);
    if (ok) {
        l->size += len;
        return ERR_OK;
    }
    fail(e, "write", l->path);
    cut_back(l, l->size);
    return e->code;
}

enum err_code storage_log_sync(struct storage_log *l, struct err *e)
{
    if (l->size == l->durable)
        return ERR_OK;
    if (l->fsync && fdatasync(l->fd) != 0) {
        fail(e, "write", l->path);
        cut_back(l, l->durable);
        return e->code;
    }
    l->durable = l->size;
    return ERR_OK;
}

// --- compaction ---

static bool write_live(int fd, const struct content *c)
{
    uint64_t at = 0;
    for (size_t i = 0; i < c->count; i++) {
        const struct live *l = &c->items[i];
        if (l->value.len == 0)
            continue;
        // the record as it stands, header included
        struct bytes record = {l->key.data - HEADER_BYTES, HEADER_BYTES + l->key.len + l->value.len};
        if (!write_at(fd, record, at))
            return false;
        at += record.len;
    }
    return fsync(fd) == 0;
}

static enum err_code replace_file(struct storage_log *l, const char *temporary, const struct content *c, struct err *e)
{
    int fd = open(temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd < 0)
        return fail(e, "create", temporary);
    if (!write_live(fd, c) || rename(temporary, l->path) != 0) {
        fail(e, "rewrite", l->path);
        close(fd);
        unlink(temporary);
        return e->code;
    }
    close(l->fd);
    l->fd = fd;
    l->size = l->durable = c->live_bytes;
    l->needs_cut = false;
    return folder_sync(l->folder, e);
}

static enum err_code compact(struct storage_log *l, const struct content *c, struct err *e)
{
    enum err_code rc = ERR_OK;
    if (l->size > STORAGE_COMPACT_BYTES && c->live_bytes < l->size / 2) {
        char temporary[LIMIT_PATH_BYTES];
        snprintf(temporary, sizeof temporary, "%s.tmp", l->path);
        rc = replace_file(l, temporary, c, e);
    }
    l->review_at = 2 * l->size + STORAGE_COMPACT_BYTES;
    return rc;
}

void storage_log_review(struct storage_log *l)
{
    struct content c;
    struct err e = {0};
    if (l->size < l->review_at || l->size != l->durable || l->needs_cut)
        return;
    enum err_code rc = content_read(&c, l, (size_t)l->size, &e);
    if (rc == ERR_OK)
        rc = compact(l, &c, &e);
    else
        l->review_at = 2 * l->size;
    if (rc != ERR_OK)
        log_warn(l->log, "%s stays as large as it is: %s", l->path, e.text);
    content_fini(&c);
}

// --- opening ---

static enum err_code cut_damage(struct storage_log *l, const struct content *c, struct err *e)
{
    l->size = l->durable = c->whole;
    if (c->whole == c->len)
        return ERR_OK;
    log_warn(l->log, "%s is damaged at byte %zu: the %zu bytes from there on are cut off", l->path, c->whole,
             c->len - c->whole);
    return cut_back(l, c->whole) ? ERR_OK : fail(e, "cut", l->path);
}

static enum err_code open_content(struct storage_log *l, struct content *c, struct err *e)
{
    struct stat st;
    *c = (struct content){.data = NULL};
    l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (l->fd < 0)
        return fail(e, "open", l->path);
    if (fstat(l->fd, &st) != 0)
        return fail(e, "look at", l->path);
    if (st.st_size == 0 && folder_sync(l->folder, e) != ERR_OK)
        return e->code;
    return content_read(c, l, (size_t)st.st_size, e);
}

enum err_code storage_log_open(struct storage_log *l, const char *path, bool fsync_wanted, const struct logger *log,
                               storage_visit_fn *visit, void *arg, struct err *e)
{
    struct content c;
    *l = (struct storage_log){
        .path = mem_copy_text(path), .folder = mem_copy_text(path), .log = log, .fsync = fsync_wanted, .fd = -1};
    char *slash = strrchr(l->folder, '/');
    CHECK(slash != NULL); // the extension joins folder and name
    slash[slash == l->folder] = '\0';
    enum err_code rc = open_content(l, &c, e);
    if (rc == ERR_OK)
        rc = cut_damage(l, &c, e);
    for (size_t i = 0; rc == ERR_OK && visit != NULL && i < c.count; i++)
        if (c.items[i].value.len != 0)
            visit(arg, c.items[i].key, c.items[i].value);
    if (rc == ERR_OK)
        rc = compact(l, &c, e);
    content_fini(&c);
    return rc;
}

void storage_log_close(struct storage_log *l)
{
    if (l->fd >= 0)
        close(l->fd);
    free(l->path);
    free(l->folder);
    l->path = l->folder = NULL;
    l->fd = -1;
}
