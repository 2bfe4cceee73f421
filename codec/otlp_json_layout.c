// SPDX-License-Identifier: Apache-2.0
// Which layout a request in JSON has: names tell, and each release's names are those of a range of layouts.
#include "codec/otlp_json_reader.h"

#include <stdio.h>

enum { RELEASES_TEXT = 32 };

static void print_releases(char *text, const struct otlp_json_field *f)
{
    static const char *const first[] = {"", "1.4", "1.7", "1.8", "1.9", "1.10"};
    static const char *const last[] = {"", "1.5", "1.7", "1.8"};
    if (f->until == OTLP_LAYOUT_CURRENT)
        snprintf(text, RELEASES_TEXT, "%s and later", first[f->since]);
    else if (f->since == f->until && f->since != OTLP_LAYOUT_1_5)
        snprintf(text, RELEASES_TEXT, "%s", last[f->until]);
    else
        snprintf(text, RELEASES_TEXT, "%s to %s", first[f->since], last[f->until]);
}

void otlp_json_begin_layout(struct otlp_json_reader *r)
{
    r->since = (struct otlp_json_witness){.layout = OTLP_LAYOUT_1_5};
    r->until = (struct otlp_json_witness){.layout = OTLP_LAYOUT_CURRENT};
}

static void set_witness(struct otlp_json_witness *w, enum otlp_layout layout, const struct otlp_place *at,
                        const struct otlp_json_field *f)
{
    w->layout = layout;
    w->field = f;
    otlp_print_place(w->place, sizeof w->place, at);
}

static const char *note(const struct otlp_json_field *f)
{
    return f->note != NULL ? f->note : "";
}

static void fail_mixed(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f,
                       const struct otlp_json_witness *other)
{
    char here[RELEASES_TEXT], there[RELEASES_TEXT];
    print_releases(here, f);
    print_releases(there, other->field);
    otlp_json_fail(r, at, ERR_INVALID,
                   "this name%s is of OTLP profiles %s, but the request has %s%s, which is of %s: it mixes two layouts",
                   note(f), here, other->place, note(other->field), there);
}

bool otlp_json_note_layout(struct otlp_json_reader *r, const struct otlp_place *at, const struct otlp_json_field *f)
{
    if (f->since > r->until.layout || f->until < r->since.layout) {
        fail_mixed(r, at, f, f->since > r->until.layout ? &r->until : &r->since);
        return false;
    }
    if (f->since > r->since.layout)
        set_witness(&r->since, f->since, at, f);
    if (f->until >= r->until.layout)
        return true;
    set_witness(&r->until, f->until, at, f);
    r->again = true;
    json_fail(&r->json, ERR_UNSUPPORTED, ""); // ends the loops
    return false;
}

void otlp_json_find_layout(const struct otlp_json_reader *r, struct otlp_layout_finding *out)
{
    char releases[RELEASES_TEXT];
    const struct otlp_json_witness *w = r->until.field != NULL ? &r->until : &r->since;
    out->layout = r->until.layout;
    if (w->field == NULL) {
        snprintf(out->evidence, sizeof out->evidence, "no name that only some layouts have");
        return;
    }
    print_releases(releases, w->field);
    snprintf(out->evidence, sizeof out->evidence, "%s%s is a name of OTLP profiles %s", w->place, note(w->field),
             releases);
}
