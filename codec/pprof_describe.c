// SPDX-License-Identifier: Apache-2.0
// What people send instead of pprof (field cases A29 to A34), so that an error can name it.
#include "base/text.h"
#include "codec/pprof_reader.h"

struct signature {
    size_t offset, size;
    const char *magic;
    const char *description;
};

#define CPU_PROFILE "a binary CPU profile of gperftools; convert it with pprof -proto"
#define JEMALLOC "jemalloc heap text; convert it with jeprof or pprof -proto"
#define AT(offset, text, description) {offset, sizeof(text) - 1, text, description}

static const struct signature signatures[] = {
    AT(6, " trace\0\0", "a Go execution trace (/debug/pprof/trace)"),
    AT(7, " trace\0\0", "a Go execution trace (/debug/pprof/trace)"),
    AT(0, "FLR\0", "a JFR recording"),
    AT(0, "goroutine profile: total", "a Go text dump (ask without ?debug=1)"),
    AT(0, "threadcreate profile: total", "a Go text dump (ask without ?debug=1)"),
    AT(0, "goroutine ", "a Go stack dump (ask without ?debug=2)"),
    AT(0, "heap profile:", "a heap profile in gperftools' or Go's old text format; convert it with pprof -proto"),
    AT(0, "heap_v2/", JEMALLOC),
    AT(0, "--- mutex:", "a Go mutex or block profile as text (ask without ?debug=1)"),
    AT(0, "--- contention", "a contention profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- heapz", "a heap profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- growthz", "a heap profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- symbol", "a symbolized profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- thread", "a thread profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- Thread", "a thread profile in the old text format; convert it with pprof -proto"),
    AT(0, "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", CPU_PROFILE),
    AT(0, "\0\0\0\0\3\0\0\0", CPU_PROFILE),
    AT(0, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\3", CPU_PROFILE),
    AT(0, "\0\0\0\0\0\0\0\3", CPU_PROFILE),
    AT(0, "\0\0\0\0", "a run of zero bytes"),
    AT(0, "\177ELF", "an ELF binary"),
    AT(0, "\211PNG", "a PNG image"),
    AT(0, "\312\376\272\276", "Java class or macOS machine code"),
    AT(0, "PK\3\4", "a zip archive"),
    AT(257, "ustar", "a tar archive"),
    AT(0, "PERFILE2", "a perf.data recording"),
    AT(0, "BZh", "bzip2 data"),
    AT(0, "\3757zXZ", "xz data"),
    AT(0, "\4\"M\30", "lz4 data"),
    AT(0, "\377\6\0\0sNaPpY", "snappy data"),
    AT(0, "\377\376", "UTF-16 text"),
    AT(0, "\376\377", "UTF-16 text"),
    AT(0, "HTTP/", "an HTTP answer with its headers"),
    AT(0, "<", "HTML or XML"),
    AT(0, "{", "JSON"),
    AT(0, "[", "JSON"),
};

static bool matches(struct bytes data, const struct signature *s)
{
    return data.len >= s->offset + s->size && memcmp(data.data + s->offset, s->magic, s->size) == 0;
}

static bool is_text(struct bytes data)
{
    size_t n = data.len < 256 ? data.len : 256;
    for (size_t i = 0; i < n; i++) {
        uint8_t c = data.data[i];
        if ((c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\0') || c == 0x7f)
            return false;
    }
    while (n < data.len && n > 0 && (data.data[n] & 0xc0) == 0x80)
        n--; // not in the middle of a character
    return n >= 4 && utf8_valid((struct bytes){data.data, n});
}

static struct bytes first_line(struct bytes data)
{
    const uint8_t *end = memchr(data.data, '\n', data.len);
    return (struct bytes){data.data, end != NULL ? (size_t)(end - data.data) : data.len};
}

static bool has_next_line(struct bytes *data, struct bytes line)
{
    if (line.len == data->len)
        return false;
    data->data += line.len + 1;
    data->len -= line.len + 1;
    return data->len > 0;
}

// "a;b;c 12" or "a;b;c 1.5": frames and a count.
static bool is_folded_line(struct bytes line)
{
    size_t n = line.len - (line.len > 0 && line.data[line.len - 1] == '\r'), digits = 0;
    while (digits < n && strchr("0123456789.", line.data[n - 1 - digits]) != NULL)
        digits++;
    return digits > 0 && digits < n && line.data[n - 1 - digits] == ' ' && memchr(line.data, ';', n) != NULL;
}

static bool is_comment(struct bytes line)
{
    return line.len < 2 || line.data[0] == '#' || (line.data[0] == '/' && line.data[1] == '/');
}

// By the first line that is no comment.
static bool is_folded(struct bytes data)
{
    struct bytes line = first_line(data);
    while (is_comment(line) && has_next_line(&data, line))
        line = first_line(data);
    return is_folded_line(line);
}

// jemalloc's programs may write log lines to the same place first.
static bool is_jemalloc(struct bytes data)
{
    for (int lines = 0; lines < 20; lines++) {
        struct bytes line = first_line(data);
        if (line.len > 8 && memcmp(line.data, "heap_v2/", 8) == 0)
            return true;
        if (!has_next_line(&data, line))
            return false;
    }
    return false;
}

// Its first resource holds messages where a sample type would hold numbers. The same first byte is a line end.
bool pprof_is_otlp(struct bytes data)
{
    struct wire_reader r;
    wire_reader_init(&r, data);
    uint64_t tag = wire_varint(&r), len = wire_varint(&r);
    return tag == 10 && r.error == NULL && len > 2 && len <= (size_t)(r.end - r.at) && (*r.at == 10 || *r.at == 18);
}

const char *pprof_describe_other(struct bytes data)
{
    if (pprof_is_otlp(data))
        return "an OTLP export request";
    while (data.len > 0 && (*data.data == '\n' || *data.data == ' ' || *data.data == '\r')) {
        data.data++;
        data.len--;
    }
    bool text = is_text(data);
    if (text && is_folded(data)) // its first frame may begin as another format does
        return "folded stacks";
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        if (matches(data, &signatures[i]))
            return signatures[i].description;
    }
    if (text && is_jemalloc(data))
        return JEMALLOC;
    return text ? "text" : NULL;
}
