// SPDX-License-Identifier: Apache-2.0
#include "receivers/profile_file.h"

#include "base/hash.h"
#include "base/mem.h"
#include "pipeline/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    // A compressed file grows about four times and a decoded profile takes about as much again with its
    // values: what is taken from the budget before reading, corrected once the batch is there.
    MEMORY_PER_FILE_BYTE = 14,
    MEMORY_PER_FILE = 64 << 10,
    MORE_MEMORY = 8, // times as much, for a file that needs more than that
};

const char *const file_timestamp_names[] = {
    [TIMESTAMP_PROFILE] = "profile", [TIMESTAMP_FILE] = "file", [TIMESTAMP_NOW] = "now", NULL};

const char *file_outcome_name(enum file_outcome outcome)
{
    static const char *const names[FILE_OUTCOME_COUNT] = {
        [FILE_SENT] = "sent",       [FILE_PARTIAL] = "partial",       [FILE_GAVE_UP] = "gave_up",
        [FILE_REFUSED] = "refused", [FILE_INVALID] = "invalid",       [FILE_UNREADABLE] = "unreadable",
        [FILE_CHANGED] = "changed", [FILE_KNOWN] = "known",           [FILE_IN_FLIGHT] = "in_flight",
        [FILE_BUSY] = "busy",       [FILE_QUEUE_FULL] = "queue_full",
    };
    return names[outcome];
}

static size_t memory_for(const struct profile_file *f)
{
    const struct budget *b = f->receiver->component.env->budget;
    uint64_t size = f->identity.size;
    uint64_t wanted = size > b->limit / MEMORY_PER_FILE_BYTE ? b->limit : size * MEMORY_PER_FILE_BYTE + MEMORY_PER_FILE;
    return wanted > b->limit ? b->limit : (size_t)wanted;
}

static void log_note(void *arg, bool lost, const char *text)
{
    const struct profile_file *f = arg;
    const struct logger *log = &f->receiver->component.log;
    if (lost)
        log_warn(log, "%s: %s", f->path, text);
    else
        log_info(log, "%s: %s", f->path, text);
}

void profile_file_log_report(const struct profile_file *f)
{
    decode_report_tell(&f->report, log_note, (void *)(uintptr_t)f);
}

// --- the end of it: loop thread ---

static void run_outcome(struct loop_task *task)
{
    struct profile_file *f = CONTAINER_OF(task, struct profile_file, task);
    f->on_outcome(f);
}

// From a worker: the file ends here.
static void post_outcome(struct profile_file *f, enum file_outcome outcome)
{
    f->outcome = outcome;
    f->task.run = run_outcome;
    loop_post(f->receiver->component.loop, &f->task);
}

static enum file_outcome outcome_of(const struct verdict *v)
{
    static const enum file_outcome outcomes[] = {
        [VERDICT_OK] = FILE_SENT,
        [VERDICT_PARTIAL] = FILE_PARTIAL,
        [VERDICT_RETRY] = FILE_GAVE_UP,
        [VERDICT_REFUSED] = FILE_REFUSED,
    };
    return outcomes[v->kind];
}

static void count_samples(struct profile_file *f, enum verdict_kind kind)
{
    if (f->held)
        return; // counted when it was held
    enum receiver_outcome outcome = kind <= VERDICT_PARTIAL ? RECEIVER_ACCEPTED : RECEIVER_REFUSED;
    receiver_count(f->receiver, 0, outcome, f->samples);
}

static void release_claim(struct profile_file *f)
{
    if (f->known != NULL)
        known_files_release(f->known, &f->key);
}

static void on_verdict(void *arg, enum verdict_moment moment, const struct verdict *v)
{
    struct profile_file *f = arg;
    count_samples(f, v->kind);
    if (moment == MOMENT_HELD) {
        f->held = true;
        if (f->on_held != NULL)
            f->on_held(f);
        return;
    }
    f->outcome = v->queue_full ? FILE_QUEUE_FULL : outcome_of(v);
    f->retry_after_nanos = v->retry_after_nanos;
    if (v->kind >= VERDICT_RETRY)
        release_claim(f);
    if (v->kind != VERDICT_OK)
        err_set(&f->e, ERR_UNAVAILABLE, "%s", v->text);
    f->on_outcome(f);
}

// --- reading: worker thread ---

static enum err_code read_all(struct profile_file *f, int fd, uint8_t *data, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, data + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(&f->e, ERR_IO, "cannot read the file: %s", strerror(errno));
        if (n == 0)
            break;
        got += (size_t)n;
    }
    struct stat st;
    struct file_identity now = f->identity;
    if (fstat(fd, &st) == 0)
        now = file_identity_of(&st);
    if (got != size || !file_identity_equal(&now, &f->identity)) {
        f->identity = now;
        return err_set(&f->e, ERR_UNAVAILABLE, "the file changed while it was read");
    }
    return ERR_OK;
}

static enum err_code check_file(struct profile_file *f, int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return err_set(&f->e, ERR_IO, "cannot look at the file: %s", strerror(errno));
    struct file_identity now = file_identity_of(&st);
    if (!file_identity_equal(&now, &f->identity)) {
        f->identity = now;
        return err_set(&f->e, ERR_UNAVAILABLE, "the file changed since it was found");
    }
    if (f->options->max_file_bytes != 0 && now.size > f->options->max_file_bytes)
        return err_set(&f->e, ERR_LIMIT, "the file has %" PRIu64 " bytes, max_file_size allows %" PRIu64, now.size,
                       f->options->max_file_bytes);
    size_t budget = f->receiver->component.env->budget->limit;
    if (now.size > budget)
        return err_set(&f->e, ERR_LIMIT, "the file has %" PRIu64 " bytes, service.memory_limit allows %zu", now.size,
                       budget);
    return ERR_OK;
}

static void free_content(const struct profile_file *f, struct bytes content)
{
    if (content.data != f->content.data)
        free((void *)(uintptr_t)content.data);
}

// The whole content; free_content ends it.
static enum err_code read_file(struct profile_file *f, struct bytes *content_out)
{
    if (f->content.data != NULL) {
        *content_out = f->content;
        return ERR_OK;
    }
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_set(&f->e, ERR_IO, "cannot open the file: %s", strerror(errno));
    uint8_t *data = NULL;
    enum err_code rc = check_file(f, fd);
    if (rc == ERR_OK && (data = mem_try_alloc((size_t)f->identity.size)) == NULL)
        rc = err_set(&f->e, ERR_MEMORY, "out of memory for a file of %" PRIu64 " bytes", f->identity.size);
    if (rc == ERR_OK)
        rc = read_all(f, fd, data, (size_t)f->identity.size);
    close(fd);
    if (rc != ERR_OK) {
        free(data);
        return rc;
    }
    *content_out = (struct bytes){data, (size_t)f->identity.size};
    return ERR_OK;
}

static enum err_code find_attributes(struct profile_file *f, struct arena *arena)
{
    const struct receiver *r = f->receiver;
    bool found = true;
    f->attributes = r->resource_attributes;
    f->attribute_count = r->resource_attribute_count;
    if (f->options->match != NULL && f->path != NULL &&
        !path_attributes_merge(f->options->match, f->path, f->attributes, f->attribute_count, arena, &f->attributes,
                               &f->attribute_count, &found))
        return err_set(&f->e, ERR_MEMORY, "out of memory for the attributes of a file");
    f->unmatched = !found;
    return ERR_OK;
}

// Attributes are part of what makes content known: the same file under two services is two profiles.
static uint64_t hash_attributes(const struct profile_file *f)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    for (uint32_t i = 0; i < f->attribute_count; i++) {
        buf_add(&text, f->attributes[i].key.data, f->attributes[i].key.len);
        buf_add_byte(&text, 0);
        value_print(&text, &f->attributes[i].value);
        buf_add_byte(&text, 0);
    }
    uint64_t hash = hash_content(text.data, text.len).low;
    buf_fini(&text);
    return hash;
}

static void make_key(struct profile_file *f, struct bytes content)
{
    struct hash128 h = hash_content(content.data, content.len);
    uint64_t attributes = hash_attributes(f);
    memcpy(f->key.bytes, &h.high, 8);
    memcpy(f->key.bytes + 8, &h.low, 8);
    memcpy(f->key.bytes + 16, &attributes, 8);
}

static bool lower(size_t *limit, size_t most)
{
    bool lowered = *limit == 0 || *limit > most;
    *limit = lowered ? most : *limit;
    return lowered;
}

// Inflating and decoding take no more than was charged; true if that is less than the limits allow.
static bool bound_by(struct decode_limits *limits, size_t bytes)
{
    bool inflated = lower(&limits->max_inflated_bytes, bytes), batch = lower(&limits->max_batch_bytes, bytes);
    return inflated || batch;
}

static enum err_code decode_once(struct profile_file *f, struct bytes content, const struct decode_limits *limits,
                                 struct batch **out)
{
    const struct receiver *r = f->receiver;
    int64_t now = clock_wall_nanos(r->component.env->clock);
    struct decode_options options = {
        .limits = limits,
        .resource_attributes = f->attributes,
        .resource_attribute_count = f->attribute_count,
        .keep_original_payload = f->options->original_payload,
        .fallback_duration_nanos = f->duration_nanos,
        .fallback_time_nanos = f->options->timestamp == TIMESTAMP_NOW ? now : f->identity.mtime_nanos,
        .force_fallback_time = f->options->timestamp != TIMESTAMP_PROFILE,
        .now_nanos = now,
        .folded = f->options->folded,
    };
    const struct format_choice choice = {f->options->format, f->options->allowed, f->path};
    return format_decode(content, &choice, &options, out, &f->report, &f->e);
}

// Where the budget was the limit, the error says so: raising the other would not help.
static void name_budget(struct profile_file *f, const struct decode_limits *most)
{
    const struct decode_limits *own = &f->options->limits;
    bool inflated = strncmp(f->e.text, "max_inflated", 12) == 0, batch = strncmp(f->e.text, "the batch ", 10) == 0;
    if ((inflated && most->max_inflated_bytes != own->max_inflated_bytes) ||
        (batch && most->max_batch_bytes != own->max_batch_bytes))
        err_prefix(&f->e, "service.memory_limit");
}

// A file that grows more than others is tried again with more of the budget: a bomb cannot take what it did not get.
static enum err_code decode(struct profile_file *f, struct bytes content, struct claim *charged, struct batch **out)
{
    struct decode_limits most = f->options->limits;
    bound_by(&most, charged->budget->limit);
    for (;;) {
        struct decode_limits limits = most;
        bool bound = bound_by(&limits, charged->bytes);
        enum err_code rc = decode_once(f, content, &limits, out);
        if (rc == ERR_LIMIT && !bound)
            name_budget(f, &most);
        if (rc != ERR_LIMIT || !bound)
            return rc;
        if (claim_more(charged, MORE_MEMORY, &f->e) != ERR_OK)
            return err_set(&f->e, ERR_MEMORY,
                           "unpacked it takes more than %zu bytes, service.memory_limit of %zu has "
                           "no room now",
                           charged->bytes, charged->budget->limit);
    }
}

static void note_batch(struct profile_file *f, const struct batch *b)
{
    f->file_bytes = f->identity.size;
    f->profiles = b->profile_count;
    f->samples = b->sample_count;
    if (b->profile_count != 0)
        f->profile_time_nanos = (int64_t)b->resources[0]->scopes[0]->profiles[0].time_nanos;
}

static void end_early(struct profile_file *f, struct claim *charged, enum file_outcome outcome)
{
    claim_end(charged);
    post_outcome(f, outcome);
}

static void deliver(struct profile_file *f, struct batch *batch, struct claim *charged)
{
    size_t needed = batch_memory_bytes(batch);
    if (claim_exactly(charged, needed, NULL) != ERR_OK) {
        batch_unref(&batch);
        release_claim(f);
        err_set(&f->e, ERR_UNAVAILABLE, "decoded it takes %zu bytes, service.memory_limit of %zu has no room now",
                needed, charged->budget->limit);
        end_early(f, charged, FILE_BUSY);
        return;
    }
    const struct waiter waiter = {.loop = f->receiver->component.loop,
                                  .has_copy = f->content.data == NULL,
                                  .wants_held = true,
                                  .on_verdict = on_verdict,
                                  .arg = f};
    consumer_take(f->receiver->next, delivery_create(batch, &waiter, charged->budget, needed));
}

static enum file_outcome claim_content(struct profile_file *f, struct bytes content)
{
    static const enum file_outcome outcomes[] = {
        [KNOWN_CLAIMED] = FILE_SENT, [KNOWN_SENT] = FILE_KNOWN, [KNOWN_IN_FLIGHT] = FILE_IN_FLIGHT};
    if (f->known == NULL)
        return FILE_SENT;
    make_key(f, content);
    return outcomes[known_files_claim(f->known, &f->key)];
}

static void decode_and_deliver(struct profile_file *f, struct bytes content, struct claim *charged)
{
    struct batch *batch = NULL;
    enum err_code rc = decode(f, content, charged, &batch);
    free_content(f, content);
    if (rc != ERR_OK) {
        if (rc != ERR_MEMORY) // that file comes again
            receiver_count(f->receiver, 0, RECEIVER_FAILED, f->report.samples != 0 ? f->report.samples : 1);
        release_claim(f);
        end_early(f, charged, rc == ERR_MEMORY ? FILE_BUSY : FILE_INVALID);
        return;
    }
    note_batch(f, batch);
    if (f->options->dry_run) {
        batch_unref(&batch);
        end_early(f, charged, FILE_SENT);
        return;
    }
    deliver(f, batch, charged);
}

// The file may be gone when this returns; the arena, which has its attributes, is the caller's.
static void run_with(struct profile_file *f, struct claim *charged, struct arena *arena)
{
    struct bytes content = {NULL, 0};
    enum err_code rc = find_attributes(f, arena);
    if (rc == ERR_OK)
        rc = read_file(f, &content);
    if (rc != ERR_OK) {
        end_early(f, charged,
                  rc == ERR_UNAVAILABLE ? FILE_CHANGED
                  : rc == ERR_MEMORY    ? FILE_BUSY
                  : rc == ERR_LIMIT     ? FILE_INVALID
                                        : FILE_UNREADABLE);
        return;
    }
    enum file_outcome known = claim_content(f, content);
    if (known != FILE_SENT) {
        free_content(f, content);
        end_early(f, charged, known);
        return;
    }
    decode_and_deliver(f, content, charged);
}

static void run_file(struct job *job)
{
    struct arena arena;
    struct profile_file *f = CONTAINER_OF(job, struct profile_file, job);
    struct claim charged = {f->receiver->component.env->budget, job->node.bytes};
    mem_expect(2 * charged.bytes); // what is encoded comes on top
    arena_init(&arena, 0);
    run_with(f, &charged, &arena);
    arena_fini(&arena);
}

bool profile_file_submit(struct profile_file *f)
{
    const struct component_env *env = f->receiver->component.env;
    size_t needed = memory_for(f);
    if (!budget_try_take(env->budget, needed))
        return false;
    f->job.run = run_file;
    f->job.node.bytes = needed;
    f->held = false;
    f->retry_after_nanos = 0;
    f->e = (struct err){0};
    f->report = (struct decode_report){0};
    if (workers_try_submit(env->workers, &f->job))
        return true;
    budget_give(env->budget, needed);
    return false;
}
