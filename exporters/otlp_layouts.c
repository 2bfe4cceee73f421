// SPDX-License-Identifier: Apache-2.0
#include "exporters/otlp_layouts.h"

#include <inttypes.h>
#include <stdio.h>

const char *const otlp_layout_choices[] = {"auto", "current", "1.10", "1.9", "1.8", "1.7", NULL};
const char *const otlp_reference_choices[] = {[OTLP_INLINE] = "inline", [OTLP_INDEXED] = "indexed", NULL};
const char *const otlp_zero_link_choices[] = {[OTLP_LINK_EMPTY] = "empty", [OTLP_LINK_ZEROS] = "zeros", NULL};

static const struct metric_family lost_family = {
    "profrelay_exporter_layout_lost_attributes",
    "Attributes whose unit an older layout of OTLP profiles could not hold.", METRIC_COUNTER};

static enum otlp_layout chosen(const struct otlp_settings *s)
{
    enum otlp_layout layout = OTLP_LAYOUT_CURRENT;
    CHECK(otlp_layout_from_name(otlp_layout_choices[s->layout], &layout));
    return layout;
}

static bool is_auto(const struct otlp_exporter *x)
{
    return chosen(x->settings) == OTLP_LAYOUT_AUTO;
}

void otlp_layouts_init(struct otlp_exporter *x)
{
    const struct component *c = &x->http.exporter.component;
    const struct metric_label label = {"exporter", c->id};
    atomic_init(&x->spoken, is_auto(x) ? OTLP_LAYOUT_CURRENT : chosen(x->settings));
    x->layout_lost = metrics_series(c->env->metrics, &lost_family, &label, 1);
}

void otlp_layouts_check(const struct otlp_settings *s, const struct component_check *check)
{
    enum otlp_layout layout = chosen(s);
    if (s->string_references == OTLP_INDEXED && layout != OTLP_LAYOUT_CURRENT && layout != OTLP_LAYOUT_AUTO)
        check_error(check, "string_references", "indexed is of 1.10 and later: layout %s has inline texts only",
                    otlp_layout_names[layout]);
}

enum otlp_layout otlp_layouts_spoken(const struct otlp_exporter *x)
{
    return (enum otlp_layout)atomic_load_explicit(&x->spoken, memory_order_relaxed);
}

struct otlp_emission otlp_layouts_emission(const struct otlp_exporter *x, enum otlp_layout layout)
{
    return (struct otlp_emission){
        .layout = layout,
        .string_references = x->settings->string_references == OTLP_INDEXED,
        .zero_link = x->settings->zero_link == OTLP_LINK_ZEROS,
    };
}

unsigned otlp_layouts_refused(const struct record *r)
{
    return r->refused_layouts | 1u << r->layout;
}

enum otlp_layout otlp_layouts_after(const struct otlp_exporter *x, const struct record *r)
{
    const unsigned refused = otlp_layouts_refused(r);
    enum otlp_layout layout = otlp_layouts_spoken(x);
    if ((refused >> layout & 1) == 0)
        return layout;
    for (layout = OTLP_LAYOUT_CURRENT; layout >= OTLP_LAYOUT_1_7; layout--)
        if ((refused >> layout & 1) == 0)
            return layout;
    return OTLP_LAYOUT_AUTO;
}

void otlp_layouts_note_lost(const struct otlp_exporter *x, enum otlp_layout layout,
                            const struct otlp_emission_report *report)
{
    if (report->lost == 0)
        return;
    metric_add(x->layout_lost, (int64_t)report->lost);
    log_warn(&x->http.exporter.component.log,
             "layout %s cannot hold all of a batch, lost are %" PRIu64 ", the first: %s", otlp_layout_names[layout],
             report->lost, report->first);
}

void otlp_layouts_headers(const struct otlp_exporter *x, const struct record *r, struct header_set *headers)
{
    if (r->layout != OTLP_LAYOUT_CURRENT && !http_exporter_is_given(&x->http, OTLP_VERSION_HEADER))
        header_set_remove(headers, OTLP_VERSION_HEADER);
}

// How peers say that the bytes are no request of theirs: a Collector (its own decoder, and grpc-go around it), Go's protobuf
// runtime, tonic and prost, C++ and Python, Java; profrelay; whoever does not know the header.
static bool says_unreadable(const char *words)
{
    static const char *const signs[] = {
        "wiretype",         "wire type",         "wire-format",      "unmarshal",     "cannot parse",
        "failed to decode", "failed to parse",   "error parsing",    "parsing error", "invalid tag",
        "proto:",           OTLP_VERSION_HEADER, "of OTLP profiles",
    };
    // Texts that are not UTF-8 are that in each layout.
    for (size_t i = 0; i < COUNT_OF(signs) && strcasestr(words, "utf-8") == NULL; i++)
        if (strcasestr(words, signs[i]) != NULL)
            return true;
    return false;
}

bool otlp_layouts_blame(const struct otlp_exporter *x, const struct record *r, const char *words, struct verdict *v)
{
    static const char remedy[] = " (does it speak an older release of OTLP profiles? See layout)";
    size_t used = strlen(v->text);
    if (v->kind != VERDICT_REFUSED || v->too_large || !says_unreadable(words))
        return false;
    if (!is_auto(x))
        snprintf(v->text + used, sizeof v->text - used, "%s", remedy);
    else if (otlp_layouts_after(x, r) != OTLP_LAYOUT_AUTO)
        v->unreadable = true;
    else if (r->first_refusal != NULL)
        snprintf(v->text, sizeof v->text, "%s", r->first_refusal);
    return true;
}

// A request without what has moved is taken in any layout: only what takes the place of one refused tells something.
void otlp_layouts_note(struct otlp_exporter *x, const struct record *r, const struct verdict *v)
{
    enum otlp_layout spoken = otlp_layouts_spoken(x);
    if (v->kind > VERDICT_PARTIAL || (r->refused_layouts >> spoken & 1) == 0)
        return;
    log_warn(
        &x->http.exporter.component.log,
        "the peer does not understand layout %s of OTLP profiles, but %s: sending that from now on; layout says so "
        "at once. Its words: %s",
        otlp_layout_names[spoken], otlp_layout_names[r->layout], r->first_refusal);
    atomic_store_explicit(&x->spoken, r->layout, memory_order_relaxed);
}
