// SPDX-License-Identifier: Apache-2.0
// What people send instead of pprof (field cases A29 to A34), so that an error can name it.
#include "codec/pprof.h"

struct signature {
    size_t offset, size;
    const char *magic;
    const char *description;
};

#define AT(offset, text, description) {offset, sizeof(text) - 1, text, description}

static const struct signature signatures[] = {
    AT(6, " trace\0\0", "a Go execution trace (/debug/pprof/trace)"),
    AT(7, " trace\0\0", "a Go execution trace (/debug/pprof/trace)"),
    AT(0, "FLR\0", "a JFR recording"),
    AT(0, "goroutine profile: total", "a Go text dump (ask without ?debug=1)"),
    AT(0, "threadcreate profile: total", "a Go text dump (ask without ?debug=1)"),
    AT(0, "goroutine ", "a Go stack dump (ask without ?debug=2)"),
    AT(0, "heap profile:", "a heap profile in gperftools' or Go's old text format; convert it with pprof -proto"),
    AT(0, "heap_v2/", "jemalloc heap text; convert it with jeprof or pprof -proto"),
    AT(0, "--- mutex:", "a Go mutex or block profile as text (ask without ?debug=1)"),
    AT(0, "--- contention", "a contention profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- heapz", "a heap profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- growthz", "a heap profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- thread", "a thread profile in the old text format; convert it with pprof -proto"),
    AT(0, "--- Thread", "a thread profile in the old text format; convert it with pprof -proto"),
    AT(0, "\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0", "a binary CPU profile of gperftools; convert it with pprof -proto"),
    AT(0, "\0\0\0\0\3\0\0\0\0\0\0\0", "a binary CPU profile of gperftools; convert it with pprof -proto"),
    AT(0, "\0\0\0\0", "a run of zero bytes"),
    AT(0, "\177ELF", "an ELF binary"),
    AT(0, "PK\3\4", "a zip archive"),
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
    return n >= 4;
}

// "a;b;c 12": the first line has frames and ends in a count.
static bool is_folded(struct bytes data)
{
    const uint8_t *end = memchr(data.data, '\n', data.len);
    size_t n = end != NULL ? (size_t)(end - data.data) : data.len;
    size_t digits = 0;
    while (digits < n && data.data[n - 1 - digits] >= '0' && data.data[n - 1 - digits] <= '9')
        digits++;
    return digits > 0 && digits < n && data.data[n - 1 - digits] == ' ' && memchr(data.data, ';', n) != NULL;
}

const char *pprof_describe_other(struct bytes data)
{
    while (data.len > 0 && (*data.data == '\n' || *data.data == ' ' || *data.data == '\r')) {
        data.data++;
        data.len--;
    }
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        if (matches(data, &signatures[i]))
            return signatures[i].description;
    }
    if (!is_text(data))
        return NULL;
    return is_folded(data) ? "folded stacks" : "text";
}
