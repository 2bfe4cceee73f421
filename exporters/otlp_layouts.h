// SPDX-License-Identifier: Apache-2.0
// Which layout requests are written in (codec/otlp_emit.h). With `layout: auto` a request that the peer does not understand
// is made anew in the next older layout, and what it takes is remembered: an exporter has one endpoint.
#ifndef EXPORTERS_OTLP_LAYOUTS_H
#define EXPORTERS_OTLP_LAYOUTS_H

#include "codec/otlp_emit.h"
#include "exporters/otlp_common.h"

void otlp_layouts_init(struct otlp_exporter *x);
void otlp_layouts_check(const struct otlp_settings *s, const struct component_check *check);

// Any thread. What the next request is to be written in, and what it means.
enum otlp_layout otlp_layouts_spoken(const struct otlp_exporter *x);
struct otlp_emission otlp_layouts_emission(const struct otlp_exporter *x, enum otlp_layout layout);
// The layout for a record refused in its own: the one that the peer took last, or the newest that it has not refused in this
// record. AUTO: there is none.
enum otlp_layout otlp_layouts_after(const struct otlp_exporter *x, const struct record *r);
// The layouts that it is refused in once its own is: a bit for each.
unsigned otlp_layouts_refused(const struct record *r);
// Counts what a request lost, and says the first of it.
void otlp_layouts_note_lost(const struct otlp_exporter *x, enum otlp_layout layout,
                            const struct otlp_emission_report *report);
// The header that names the current layout goes with no other.
void otlp_layouts_headers(const struct otlp_exporter *x, const struct record *r, struct header_set *headers);

// Loop thread. The peer's words for a refusal: if they are of a request that it cannot read (true), v->unreadable may be
// set.
bool otlp_layouts_blame(const struct otlp_exporter *x, const struct record *r, const char *words, struct verdict *v);
// Loop thread, after each attempt.
void otlp_layouts_note(struct otlp_exporter *x, const struct record *r, const struct verdict *v);

#endif
