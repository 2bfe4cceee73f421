// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include "base/hash.h"
#include "base/log_line.h"
#include "base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

// A message has a place in one set, by its hash: 256 messages at most are counted at a time.
enum { SETS = 64, WAYS = 4, SLOT_NAME_BYTES = 64, LEFT_OUT_BYTES = 256 };

// One message within its period. Names are copied: a component may be gone when its count is said.
struct slot {
    uint64_t key; // 0 = free
    int64_t since_nanos;
    uint64_t left_out;
    unsigned passed;
    enum log_level level;
    const char *format;
    bool has_id;
    char kind[SLOT_NAME_BYTES], id[SLOT_NAME_BYTES];
};

struct log {
    _Atomic enum log_level level;
    FILE *stream;
    const struct clock *clock;
    unsigned burst;
    int64_t period_nanos;

    pthread_mutex_t lock; // all below, and writing
    enum log_encoding encoding;
    char message[LIMIT_LOG_LINE_BYTES], line[LIMIT_LOG_LINE_BYTES];
    struct slot slots[SETS][WAYS];
};

struct log *log_create(const struct log_options *options)
{
    struct log *log = MEM_NEW(struct log);
    atomic_init(&log->level, options->level);
    log->encoding = options->encoding;
    log->stream = options->stream != NULL ? options->stream : stderr;
    log->clock = options->clock != NULL ? options->clock : &clock_system;
    log->burst = options->burst;
    log->period_nanos = options->period_nanos != 0 ? options->period_nanos : 10 * NANOS_PER_SECOND;
    CHECK(pthread_mutex_init(&log->lock, NULL) == 0);
    tzset(); // localtime_r alone may not
    return log;
}

void log_set(struct log *log, enum log_level level, enum log_encoding encoding)
{
    pthread_mutex_lock(&log->lock);
    atomic_store_explicit(&log->level, level, memory_order_relaxed);
    log->encoding = encoding;
    pthread_mutex_unlock(&log->lock);
}

static bool passes_level(struct log *log, enum log_level level)
{
    return level < LOG_OFF && level >= atomic_load_explicit(&log->level, memory_order_relaxed);
}

static void put_line(struct log *log, struct log_line line)
{
    line.wall_nanos = clock_wall_nanos(log->clock);
    size_t len = log_line_write(&line, log->encoding, log->line);
    fwrite(log->line, 1, len, log->stream);
    fflush(log->stream);
}

// The format with "..." for what stood there: "sent ... files".
static void describe_format(const char *format, char *out, size_t size)
{
    size_t used = 0;
    while (*format != '\0' && used + 4 < size) {
        if (*format != '%' || format[1] == '%') {
            format += *format == '%';
            out[used++] = *format++;
            continue;
        }
        format += 1 + strcspn(format + 1, "diouxXeEfFgGaAcspn");
        format += *format != '\0';
        memcpy(out + used, "...", 3);
        used += 3;
    }
    out[used] = '\0';
}

// Says what a slot still counts; uses log->message.
static void put_left_out(struct log *log, const struct slot *s)
{
    if (s->left_out == 0 || !passes_level(log, s->level))
        return;
    char like[LEFT_OUT_BYTES];
    describe_format(s->format, like, sizeof like);
    snprintf(log->message, sizeof log->message, "%" PRIu64 " more like \"%s\" were left out", s->left_out, like);
    const char *id = s->has_id ? s->id : NULL;
    put_line(log, (struct log_line){.level = s->level, .kind = s->kind, .id = id, .message = log->message});
}

static uint64_t key_of(const struct logger *l, const char *format)
{
    uint64_t key = hash_bytes(l->kind, strlen(l->kind));
    if (l->id != NULL)
        key = hash_mix(key, hash_bytes(l->id, strlen(l->id)));
    key = hash_mix(key, (uint64_t)(uintptr_t)format);
    return key != 0 ? key : 1;
}

// The slot of the message, a free one, or the one whose period began first.
static struct slot *slot_find(struct slot set[WAYS], uint64_t key)
{
    struct slot *oldest = &set[0];
    for (size_t i = 0; i < WAYS; i++) {
        if (set[i].key == key || set[i].key == 0)
            return &set[i];
        if (set[i].since_nanos < oldest->since_nanos)
            oldest = &set[i];
    }
    return oldest;
}

static struct slot *slot_take(struct log *log, const struct logger *l, enum log_level level, const char *format)
{
    uint64_t key = key_of(l, format);
    struct slot *s = slot_find(log->slots[key >> 32 & (SETS - 1)], key);
    if (s->key != key) {
        put_left_out(log, s);
        *s = (struct slot){.key = key, .format = format, .has_id = l->id != NULL};
        s->since_nanos = clock_monotonic_nanos(log->clock);
        snprintf(s->kind, sizeof s->kind, "%s", l->kind);
        snprintf(s->id, sizeof s->id, "%s", l->id != NULL ? l->id : "");
    }
    s->level = level;
    return s;
}

// Counts the line; true when it may be written, with how many were left out before it.
static bool passes_limit(struct log *log, struct slot *s, uint64_t *left_out_out)
{
    int64_t now = clock_monotonic_nanos(log->clock);
    if (now - s->since_nanos >= log->period_nanos) {
        s->since_nanos = now;
        s->passed = 0;
    }
    if (s->passed >= log->burst) {
        s->left_out++;
        return false;
    }
    s->passed++;
    *left_out_out = s->left_out;
    s->left_out = 0;
    return true;
}

void log_write(const struct logger *l, enum log_level level, const char *format, ...)
{
    if (l == NULL || l->sink == NULL || !passes_level(l->sink, level))
        return;
    int saved_errno = errno;
    struct log *log = l->sink;
    struct logger named = {.kind = l->kind != NULL ? l->kind : "service", .id = l->id};
    struct log_line line = {.level = level, .kind = named.kind, .id = named.id};
    pthread_mutex_lock(&log->lock);
    if (log->burst == 0 || passes_limit(log, slot_take(log, &named, level, format), &line.left_out)) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(log->message, sizeof log->message, format, args);
        va_end(args);
        line.message = n < 0 ? format : log->message;
        put_line(log, line);
    }
    pthread_mutex_unlock(&log->lock);
    errno = saved_errno;
}

void log_destroy(struct log **log)
{
    if (*log == NULL)
        return;
    for (size_t i = 0; i < SETS * WAYS; i++)
        put_left_out(*log, &(*log)->slots[i / WAYS][i % WAYS]);
    pthread_mutex_destroy(&(*log)->lock);
    free(*log);
    *log = NULL;
}
