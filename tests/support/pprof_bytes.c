// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pprof_bytes.h"

void pprof_bytes_init(struct pprof_bytes *p)
{
    *p = (struct pprof_bytes){.strings = 0};
    buf_init(&p->out, (size_t)1 << 30);
}

void pprof_bytes_fini(struct pprof_bytes *p)
{
    buf_fini(&p->out);
}

uint64_t pprof_bytes_text(struct pprof_bytes *p, const char *text)
{
    if (p->strings == 0) {
        wire_put_bytes(&p->out, 6, (struct bytes){0});
        p->strings = 1;
    }
    if (text == NULL || *text == '\0')
        return 0;
    wire_put_bytes(&p->out, 6, bytes_from_text(text));
    return p->strings++;
}

static void put_number(struct buf *out, uint32_t field, uint64_t number)
{
    wire_put_tag(out, field, WIRE_VARINT);
    wire_put_varint(out, number);
}

void pprof_bytes_number(struct pprof_bytes *p, uint32_t field, uint64_t number)
{
    put_number(&p->out, field, number);
}

void pprof_bytes_message(struct pprof_bytes *p, uint32_t field, const uint64_t *numbers, uint32_t count)
{
    size_t start = wire_begin(&p->out, field);
    for (uint32_t i = 0; i < count; i++)
        wire_put_uint(&p->out, i + 1, numbers[i]);
    wire_end(&p->out, start);
}

void pprof_bytes_type(struct pprof_bytes *p, const char *type, const char *unit)
{
    uint64_t n[] = {pprof_bytes_text(p, type), pprof_bytes_text(p, unit)};
    pprof_bytes_message(p, 1, n, 2);
}

void pprof_bytes_function(struct pprof_bytes *p, uint64_t id, const char *name)
{
    uint64_t text = pprof_bytes_text(p, name);
    uint64_t n[] = {id, text, text, pprof_bytes_text(p, "file.go"), 7};
    pprof_bytes_message(p, 5, n, 5);
}

void pprof_bytes_mapping(struct pprof_bytes *p, uint64_t id, const char *filename, const char *build_id)
{
    uint64_t file = pprof_bytes_text(p, filename), build = pprof_bytes_text(p, build_id);
    uint64_t n[] = {id, 0x400000, 0x500000, 0x1000, file, build, 1, 0, 1, 0};
    pprof_bytes_message(p, 3, n, 10);
}

void pprof_bytes_location(struct pprof_bytes *p, uint64_t id, uint64_t mapping, uint64_t address, uint64_t function)
{
    size_t start = wire_begin(&p->out, 4);
    wire_put_uint(&p->out, 1, id);
    wire_put_uint(&p->out, 2, mapping);
    wire_put_uint(&p->out, 3, address);
    if (function != 0) {
        size_t line = wire_begin(&p->out, 4);
        wire_put_uint(&p->out, 1, function);
        wire_put_uint(&p->out, 2, 10 + function);
        wire_put_uint(&p->out, 3, 3);
        wire_end(&p->out, line);
    }
    wire_end(&p->out, start);
}

static void put_list(struct buf *out, uint32_t field, const uint64_t *numbers, uint32_t count)
{
    if (count == 1)
        put_number(out, field, numbers[0]);
    if (count < 2)
        return;
    size_t start = wire_begin(out, field);
    for (uint32_t i = 0; i < count; i++)
        wire_put_varint(out, numbers[i]);
    wire_end(out, start);
}

static void put_label(struct buf *out, const uint64_t n[4])
{
    size_t start = wire_begin(out, 3);
    for (uint32_t i = 0; i < 4; i++)
        wire_put_uint(out, i + 1, n[i]);
    wire_end(out, start);
}

void pprof_bytes_sample(struct pprof_bytes *p, const uint64_t *locations, uint32_t location_count,
                        const int64_t *values, uint32_t value_count, const struct test_label *labels,
                        uint32_t label_count)
{
    uint64_t parts[16][4];
    CHECK(label_count <= COUNT_OF(parts));
    for (uint32_t i = 0; i < label_count; i++) { // strings stand outside of the sample's message
        parts[i][0] = pprof_bytes_text(p, labels[i].key);
        parts[i][1] = pprof_bytes_text(p, labels[i].text);
        parts[i][2] = (uint64_t)labels[i].number;
        parts[i][3] = pprof_bytes_text(p, labels[i].unit);
    }
    size_t start = wire_begin(&p->out, 2);
    put_list(&p->out, 1, locations, location_count);
    put_list(&p->out, 2, (const uint64_t *)values, value_count);
    for (uint32_t i = 0; i < label_count; i++)
        put_label(&p->out, parts[i]);
    wire_end(&p->out, start);
}

static void put_samples(struct pprof_bytes *p)
{
    static const struct test_label labels[] = {{"thread", "main", 0, NULL},
                                               {"bytes", NULL, 512, "bytes"},
                                               {"many", "a", 0, NULL},
                                               {"many", "b", 0, NULL},
                                               {"sizes", NULL, 1, "kb"},
                                               {"sizes", NULL, 2, "mb"},
                                               {"trace_id", "0102030405060708090a0b0c0d0e0f10", 0, NULL},
                                               {"span_id", "a1a2a3a4a5a6a7a8", 0, NULL}};
    static const uint64_t stack[] = {3, 2, 1};
    static const int64_t first[] = {1, 100}, second[] = {0, -5};
    pprof_bytes_sample(p, stack, 3, first, 2, NULL, 0);
    pprof_bytes_sample(p, stack, 3, first, 2, NULL, 0);
    pprof_bytes_sample(p, stack + 1, 1, second, 2, labels, COUNT_OF(labels));
}

void pprof_bytes_small(struct pprof_bytes *p)
{
    pprof_bytes_type(p, "samples", "count");
    pprof_bytes_type(p, "cpu", "nanoseconds");
    pprof_bytes_mapping(p, 1, "/bin/app", "0123abcd");
    pprof_bytes_mapping(p, 2, "/lib/unused.so", "go/build/id");
    pprof_bytes_function(p, 1, "main");
    pprof_bytes_function(p, 2, "work");
    pprof_bytes_function(p, 3, "leaf");
    pprof_bytes_location(p, 1, 1, 0x400010, 1);
    pprof_bytes_location(p, 2, 1, 0x400020, 2);
    pprof_bytes_location(p, 3, 1, 0x400030, 3);
    put_samples(p);
    pprof_bytes_number(p, 7, pprof_bytes_text(p, "drop.*"));
    pprof_bytes_number(p, 8, pprof_bytes_text(p, "keep.*"));
    pprof_bytes_number(p, 9, 1700000000123456789u);
    pprof_bytes_number(p, 10, 10000000000u);
    uint64_t period[] = {pprof_bytes_text(p, "cpu"), pprof_bytes_text(p, "nanoseconds")};
    pprof_bytes_message(p, 11, period, 2);
    pprof_bytes_number(p, 12, 10000000);
    pprof_bytes_number(p, 13, pprof_bytes_text(p, "first comment"));
    pprof_bytes_number(p, 13, pprof_bytes_text(p, "second comment"));
    pprof_bytes_number(p, 15, pprof_bytes_text(p, "https://example.com/doc"));
}
