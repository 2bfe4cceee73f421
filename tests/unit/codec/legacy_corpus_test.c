// SPDX-License-Identifier: Apache-2.0
// Every old profile of the corpus reads as google/pprof prints it: NAME.string beside NAME.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "codec/formats.h"
#include "profile/stack.h"
#include "profile/validate.h"
#include "tests/support/test_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct printer {
    const struct batch *b;
    const struct dictionary *d;
    const struct scope *scope;
    uint32_t profiles[4]; // by their place in the file
    struct buf out;
};

static struct bytes string(const struct printer *p, uint32_t id)
{
    return p->d->strings[id];
}

static void set_order(struct printer *p)
{
    const struct key_value *order = key_values_find(p->scope->attributes, p->scope->attribute_count,
                                                    BYTES_LITERAL("pprof.scope.sample_type_order"));
    assert_true(p->scope->profile_count <= 4);
    for (uint32_t i = 0; i < p->scope->profile_count; i++)
        p->profiles[order != NULL ? order->value.items[i].integer : i] = i;
}

// As Go's %.4v of a duration: the first four characters.
static void print_duration(struct printer *p, uint64_t nanos)
{
    char text[64];
    const uint64_t minutes = nanos / 60000000000;
    if (nanos == 0)
        return;
    assert_true(minutes >= 60);
    snprintf(text, sizeof text, "%" PRIu64 "h%" PRIu64 "m", minutes / 60, minutes % 60);
    buf_add_format(&p->out, "Duration: %.4s\n", text);
}

static void print_header(struct printer *p)
{
    const struct profile *first = &p->scope->profiles[0];
    buf_add_format(&p->out, "PeriodType: %.*s %.*s\n", BYTES_PRINT(string(p, first->period_type.type)),
                   BYTES_PRINT(string(p, first->period_type.unit)));
    buf_add_format(&p->out, "Period: %" PRId64 "\n", first->period);
    print_duration(p, first->duration_nanos);
    buf_add_text(&p->out, "Samples:\n");
    for (uint32_t i = 0; i < p->scope->profile_count; i++) {
        const struct value_type *t = &p->scope->profiles[p->profiles[i]].sample_type;
        buf_add_format(&p->out, "%s%.*s/%.*s", i > 0 ? " " : "", BYTES_PRINT(string(p, t->type)),
                       BYTES_PRINT(string(p, t->unit)));
    }
    buf_add_text(&p->out, "\n");
}

static void print_labels(struct printer *p, uint32_t set)
{
    const struct batch_range *r = &p->d->attribute_sets[set];
    for (uint32_t i = 0; i < r->count; i++) {
        const struct batch_attribute *a = &p->d->attributes[p->d->set_attributes[r->start + i]];
        buf_add_format(&p->out, "                %.*s:[%" PRId64 "]\n", BYTES_PRINT(string(p, a->key)),
                       a->value.integer);
    }
}

static void print_sample(struct printer *p, uint32_t sample)
{
    const struct columns *c = p->scope->profiles[0].columns;
    struct stack_reader r;
    uint32_t location;
    for (uint32_t i = 0; i < p->scope->profile_count; i++)
        buf_add_format(&p->out, " %10" PRId64, p->scope->profiles[p->profiles[i]].observations->values[sample]);
    buf_add_text(&p->out, ": ");
    stack_reader_init(&r, p->d, c->stacks[sample]);
    while (stack_next(&r, &location))
        buf_add_format(&p->out, "%u ", location);
    buf_add_text(&p->out, "\n");
    if (c->attribute_sets != NULL)
        print_labels(p, c->attribute_sets[sample]);
}

static void print_location(struct printer *p, uint32_t i)
{
    const struct batch_location *at = &p->d->locations[i];
    buf_add_format(&p->out, at->address == 0 ? "%6u: 0x0 " : "%6u: %#" PRIx64 " ", i, at->address);
    if (at->mapping != 0)
        buf_add_format(&p->out, "M=%u ", at->mapping);
    for (uint32_t k = 0; k < at->line_count; k++) {
        const struct batch_line *line = &p->d->lines[at->line_start + k];
        const struct batch_function *f = &p->d->functions[line->function];
        assert_int_equal(f->name, f->system_name);
        buf_add_format(&p->out, "%.*s %.*s:%" PRId64 ":%" PRId64 " s=%" PRId64, BYTES_PRINT(string(p, f->name)),
                       BYTES_PRINT(string(p, f->filename)), line->line, line->column, f->start_line);
    }
    buf_add_text(&p->out, "\n");
}

static void print_mapping(struct printer *p, uint32_t i)
{
    const struct batch_mapping *m = &p->d->mappings[i];
    buf_add_format(&p->out, "%u: 0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 " %.*s  \n", i, m->memory_start,
                   m->memory_limit, m->file_offset, BYTES_PRINT(string(p, m->filename)));
}

static void print(struct printer *p, const struct batch *b)
{
    *p = (struct printer){.b = b, .d = b->dictionary, .scope = b->resources[0]->scopes[0]};
    buf_init(&p->out, (size_t)1 << 24);
    set_order(p);
    print_header(p);
    for (uint32_t i = 0; i < p->scope->profiles[0].columns->sample_count; i++)
        print_sample(p, i);
    buf_add_text(&p->out, "Locations\n");
    for (uint32_t i = 1; i < p->d->location_count; i++)
        print_location(p, i);
    buf_add_text(&p->out, "Mappings\n");
    for (uint32_t i = 1; i < p->d->mapping_count; i++)
        print_mapping(p, i);
    buf_add_byte(&p->out, '\0');
    assert_true(buf_ok(&p->out));
}

static struct batch *decode(struct bytes content)
{
    const struct format_choice choice = {0};
    struct decode_report report;
    struct batch *b = NULL;
    struct err e = {0};
    if (format_decode(content, &choice, NULL, &b, &report, &e) != ERR_OK)
        fail_msg("%s", e.text);
    assert_string_equal(report.format, "pprof_legacy");
    assert_int_equal(report.bad_lines, 0);
    assert_int_equal(batch_validate(b, &e), ERR_OK);
    return b;
}

static void check_file(void *arg, const char *path, struct bytes content)
{
    char name[4096];
    struct printer p;
    size_t *checked = arg, len = strlen(path);
    if (len > 7 && strcmp(path + len - 7, ".string") == 0)
        return;
    struct batch *b = decode(content);
    snprintf(name, sizeof name, "%s.string", path);
    if (access(name, R_OK) == 0) {
        const struct bytes want = test_read_file(name);
        char *text = malloc(want.len + 1);
        memcpy(text, want.data, want.len);
        text[want.len] = '\0';
        print(&p, b);
        assert_string_equal((const char *)p.out.data, text);
        free(text);
        free((void *)want.data);
        buf_fini(&p.out);
        ++*checked;
    }
    batch_unref(&b);
}

static void corpus_reads_as_pprof_prints_it(void **state)
{
    (void)state;
    size_t checked = 0;
    if (test_corpus_dir() == NULL)
        skip();
    test_each_corpus_file("pprof-legacy", check_file, &checked);
    assert_int_equal(checked, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corpus_reads_as_pprof_prints_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
