// SPDX-License-Identifier: Apache-2.0
#include "base/log_line.h"

#include "base/text.h"

#include <inttypes.h>
#include <time.h>

// Room behind the message for "...", what was left out, and the end of the line.
enum { TAIL_BYTES = 96, NAME_BYTES = 512 };

struct out {
    char *at, *end; // never moves past end
    bool json;
};

static void add_text(struct out *o, const char *text)
{
    size_t len = strlen(text), room = (size_t)(o->end - o->at);
    if (len > room)
        len = room;
    memcpy(o->at, text, len);
    o->at += len;
}

// Space is a character like others; C1 controls steer terminals too.
static bool is_control(struct bytes c)
{
    return c.len == 1 ? c.data[0] < 0x20 || c.data[0] == 0x7F
                      : c.len == 2 && c.data[0] == 0xC2 && c.data[1] >= 0x80 && c.data[1] < 0xA0;
}

// What stands for the character; 0 when it stands for itself. Broken bytes are len 0.
static int escape(char out[16], const struct out *o, const uint8_t *at, size_t len)
{
    static const char from[] = "\n\t\r", to[] = "ntr";
    const char *known = len == 1 && *at != 0 ? strchr(from, *at) : NULL;
    if (len == 0)
        return snprintf(out, 16, o->json ? "\\\\x%02x" : "\\x%02x", *at);
    if (known != NULL)
        return snprintf(out, 16, "\\%c", to[known - from]);
    if (is_control((struct bytes){at, len}))
        return snprintf(out, 16, o->json ? "\\u%04x" : "\\x%02x", at[len - 1]);
    if (o->json && (*at == '"' || *at == '\\'))
        return snprintf(out, 16, "\\%c", *at);
    return 0;
}

// Adds text as far as it fits before limit, whole characters only; says with "..." that it was cut.
static void add_escaped(struct out *o, const char *text, const char *limit)
{
    struct bytes rest = bytes_from_text(text);
    while (rest.len > 0) {
        size_t len = utf8_char_len(rest), step = len == 0 ? 1 : len;
        char escaped[16];
        size_t escaped_len = (size_t)escape(escaped, o, rest.data, len);
        const void *from = escaped_len == 0 ? (const void *)rest.data : escaped;
        size_t count = escaped_len == 0 ? step : escaped_len;
        if (o->at + count > limit) {
            add_text(o, "...");
            return;
        }
        memcpy(o->at, from, count);
        o->at += count;
        rest = (struct bytes){rest.data + step, rest.len - step};
    }
}

static void add_time(struct out *o, int64_t wall_nanos)
{
    int64_t seconds = wall_nanos / NANOS_PER_SECOND, nanos = wall_nanos % NANOS_PER_SECOND;
    if (nanos < 0) {
        nanos += NANOS_PER_SECOND;
        seconds--;
    }
    struct tm t = {0};
    localtime_r(&(time_t){seconds}, &t);
    long offset = t.tm_gmtoff / 60, minutes = offset < 0 ? -offset : offset;
    char text[96];
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03d%c%02ld:%02ld", t.tm_year + 1900, t.tm_mon + 1,
             t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, (int)(nanos / NANOS_PER_MS), offset < 0 ? '-' : '+',
             minutes / 60, minutes % 60);
    add_text(o, text);
}

static const char *level_name(enum log_level level)
{
    static const char *const names[] = {
        [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error", [LOG_OFF] = "off"};
    return names[level];
}

static void add_left_out(struct out *o, const char *format, uint64_t left_out)
{
    char text[TAIL_BYTES];
    snprintf(text, sizeof text, format, left_out);
    add_text(o, text);
}

static void write_console(struct out *o, const struct log_line *line)
{
    add_time(o, line->wall_nanos);
    add_text(o, "\t");
    add_text(o, level_name(line->level));
    add_text(o, "\t");
    add_escaped(o, line->kind, o->at + NAME_BYTES);
    if (line->id != NULL) {
        add_text(o, "/");
        add_escaped(o, line->id, o->at + NAME_BYTES);
    }
    add_text(o, "\t");
    add_escaped(o, line->message, o->end - TAIL_BYTES);
    if (line->left_out != 0)
        add_left_out(o, " (%" PRIu64 " more like this were left out)", line->left_out);
    add_text(o, "\n");
}

static void add_member(struct out *o, const char *name, const char *value, const char *limit)
{
    add_text(o, ",\"");
    add_text(o, name);
    add_text(o, "\":\"");
    add_escaped(o, value, limit);
    add_text(o, "\"");
}

static void write_json(struct out *o, const struct log_line *line)
{
    add_text(o, "{\"ts\":\"");
    add_time(o, line->wall_nanos);
    add_text(o, "\"");
    add_member(o, "level", level_name(line->level), o->at + NAME_BYTES);
    add_member(o, "kind", line->kind, o->at + NAME_BYTES);
    if (line->id != NULL)
        add_member(o, "id", line->id, o->at + NAME_BYTES);
    add_member(o, "msg", line->message, o->end - TAIL_BYTES);
    if (line->left_out != 0)
        add_left_out(o, ",\"left_out\":%" PRIu64, line->left_out);
    add_text(o, "}\n");
}

size_t log_line_write(const struct log_line *line, enum log_encoding encoding, char out[LIMIT_LOG_LINE_BYTES])
{
    struct out o = {.at = out, .end = out + LIMIT_LOG_LINE_BYTES, .json = encoding == LOG_JSON};
    if (o.json)
        write_json(&o, line);
    else
        write_console(&o, line);
    return (size_t)(o.at - out);
}
