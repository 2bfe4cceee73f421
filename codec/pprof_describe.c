// SPDX-License-Identifier: Apache-2.0
// What people send instead of pprof (field cases A29 to A34), so that an error can name it.
#include "codec/folded.h"
#include "codec/legacy.h"
#include "codec/perf_script.h"
#include "codec/pprof_reader.h"
#include "codec/text_lines.h"

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
    AT(0, "goroutine ", "a Go stack dump (ask without ?debug=2)"),
    AT(0, "--- symbol", "a symbolized profile in the old text format; convert it with pprof -proto"),
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

// Does a message that begins with this field stand in a request's field 1 (resource), but not in pprof's (sample type)?
static bool begins_resource(uint8_t tag)
{
    return tag == 0x0a || tag == 0x12 || tag == 0x1a;
}

// The same of field 2, the dictionary, where pprof has samples. Forwards it begins with the zero mapping, where a sample
// would name its locations; backwards, as the Collector writes, with a table of which a sample has not the number.
static bool begins_dictionary(struct bytes message)
{
    const uint8_t tag = message.data[0];
    return tag == 0x0a ? message.data[1] == 0 : tag == 0x22 || tag == 0x2a || tag == 0x32 || tag == 0x3a;
}

// A line end is the first byte of field 1, too.
bool pprof_is_otlp(struct bytes data)
{
    struct wire_reader r;
    wire_reader_init(&r, data);
    uint64_t tag = wire_varint(&r), len = wire_varint(&r);
    if (r.error != NULL || len < 2 || len > (size_t)(r.end - r.at))
        return false;
    return tag == 0x0a ? len > 2 && begins_resource(*r.at)
                       : tag == 0x12 && begins_dictionary((struct bytes){r.at, len});
}

const char *pprof_describe_other(struct bytes data)
{
    if (pprof_is_otlp(data))
        return "an OTLP export request";
    while (data.len > 0 && (*data.data == '\n' || *data.data == ' ' || *data.data == '\r')) {
        data.data++;
        data.len--;
    }
    const char *legacy = legacy_describe(data);
    if (legacy != NULL)
        return legacy;
    if (folded_recognise(data)) // its first frame may begin as another format does
        return "folded stacks";
    if (perf_script_recognise(data))
        return "text of perf script";
    for (size_t i = 0; i < COUNT_OF(signatures); i++) {
        if (matches(data, &signatures[i]))
            return signatures[i].description;
    }
    return text_is_probable(data) ? "text" : NULL;
}
