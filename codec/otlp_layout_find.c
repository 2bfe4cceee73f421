// SPDX-License-Identifier: Apache-2.0
#include "codec/otlp_layout_finder.h"

#include "base/mem.h"

#include <stdio.h>

// --- walking ---

struct profile_walk {
    struct layout_finder *f;
    void *arg;
    bool (*visit)(struct layout_finder *f, void *arg, struct bytes profile);
};

static bool walk_scope(const struct profile_walk *w, struct bytes scope_profiles)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, scope_profiles);
    while (layout_next(&r, &field))
        if (field.number == 2 && field.type == WIRE_LEN && !w->visit(w->f, w->arg, field.bytes))
            return false;
    return true;
}

static bool walk_resource(const struct profile_walk *w, struct bytes resource_profiles)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, resource_profiles);
    while (layout_next(&r, &field))
        if (field.number == 2 && field.type == WIRE_LEN && !walk_scope(w, field.bytes))
            return false;
    return true;
}

bool layout_each_profile(struct layout_finder *f, void *arg,
                         bool (*visit)(struct layout_finder *f, void *arg, struct bytes profile), struct err *e)
{
    const struct profile_walk walk = {f, arg, visit};
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, f->request);
    while (layout_next(&r, &field))
        if (field.number == 1 && field.type == WIRE_LEN && !walk_resource(&walk, field.bytes))
            return true;
    if (r.error != NULL)
        err_set(e, ERR_INVALID, "%s (at byte %zu of the request)", r.error, wire_offset(&r));
    return r.error == NULL;
}

static bool has_dictionary(struct bytes request)
{
    struct wire_reader r;
    struct wire_field field;
    wire_reader_init(&r, request);
    while (layout_next(&r, &field))
        if (field.number == 2)
            return true;
    return false;
}

// --- words ---

static const char *name_of(enum otlp_layout layout)
{
    return layout == OTLP_LAYOUT_CURRENT ? "1.10 or later" : otlp_layout_names[layout];
}

struct text {
    char *at;
    size_t left; // without the end
};

static void add_text(struct text *t, const char *text)
{
    size_t len = strlen(text);
    len = len < t->left ? len : t->left;
    memcpy(t->at, text, len);
    t->at += len;
    t->left -= len;
    *t->at = 0;
}

// "1.8, 1.9".
static void add_names(struct text *t, uint32_t layouts, const char *last_separator)
{
    for (int l = OTLP_LAYOUT_1_5; l < OTLP_LAYOUTS; l++) {
        if ((layouts & LAYOUT_BIT(l)) == 0)
            continue;
        layouts &= ~LAYOUT_BIT(l);
        add_text(t, name_of((enum otlp_layout)l));
        if (layouts != 0)
            add_text(t, layout_single(layouts) ? last_separator : ", ");
    }
}

static void add_number(struct text *t, uint32_t number)
{
    if (number >= 10)
        add_text(t, (char[]){(char)('0' + number / 10 % 10), 0});
    add_text(t, (char[]){(char)('0' + number % 10), 0});
}

// "Sample field 4 is a varint (not 1.8, 1.9)".
static void add_sign(struct text *t, const struct layout_sign *sign)
{
    static const char *const types[] = {" is a varint", " is a fixed64", " is length-delimited", "", "",
                                        " is a fixed32"};
    add_text(t, sign->what);
    if (sign->number != 0) {
        add_text(t, " field ");
        add_number(t, sign->number);
        add_text(t, types[sign->type]);
    }
    add_text(t, " (not ");
    add_names(t, sign->against, ", ");
    add_text(t, ")");
}

static void describe(const struct layout_finder *f, char *evidence, size_t size)
{
    struct text t = {evidence, size - 1};
    evidence[0] = 0;
    for (uint32_t i = 0; i < f->view.sign_count; i++) {
        add_text(&t, i == 0 ? "" : "; ");
        add_sign(&t, &f->view.signs[i]);
    }
    if (f->view.sign_count == 0)
        add_text(&t, "nothing in it differs between the layouts");
}

// --- deciding ---

// Layouts under which the request means the same as under a newer one.
static void drop_equals(struct layout_view *v)
{
    const struct layout_sign sign = {.what = "nothing in it would read otherwise"};
    if (!v->olds_differ && (v->possible & L_NEW) != 0)
        layout_narrow(v, L_NEW, sign);
    if (!v->profiles_differ && (v->possible & (L9 | (v->samples_differ ? 0u : (uint32_t)LC))) != 0)
        layout_narrow(v, (uint32_t)~L8, sign);
    if (!v->samples_differ && (v->possible & LC) != 0)
        layout_narrow(v, (uint32_t)~L9, sign);
}

// Signs that are no proof by themselves, from strong to weak.
static enum err_code weigh(struct layout_finder *f, struct err *e)
{
    struct layout_view *v = &f->view;
    if (f->says_current && (v->possible & LC) != 0)
        layout_narrow(v, LC, (struct layout_sign){.what = "header otlp-profiles-development-version 1"});
    if ((v->possible & L_OLD) != 0 && (v->possible & L_NEW) != 0)
        layout_look_at_dictionary(f);
    if (v->newer_fields && !layout_single(v->possible))
        layout_narrow(v, (uint32_t)~LC, (struct layout_sign){.what = "fields that only older layouts have"});
    drop_equals(v);
    return layout_single(v->possible) ? ERR_OK : layout_check_indices(f, e);
}

static enum err_code refuse(const struct layout_finder *f, struct err *e)
{
    char names[64];
    struct text t = {names, sizeof names - 1};
    add_names(&t, f->view.possible, " and as ");
    return err_set(
        e, ERR_INVALID,
        "the request reads as OTLP profiles %s, with other meaning, and nothing in it tells which it is: say the "
        "layout of its sender with layouts.assume of the receiver otlp, or with --assume-layout",
        names);
}

static enum err_code refuse_release(const char *release, const char *why, struct err *e)
{
    return err_set(e, ERR_INVALID, "the request is written in the layout of OTLP profiles %s, %s: upgrade its sender",
                   release, why);
}

static enum err_code look(struct layout_finder *f, struct err *e)
{
    struct layout_view *v = &f->view;
    f->has_dictionary = has_dictionary(f->request);
    if (f->has_dictionary)
        layout_narrow(v, (uint32_t)~L5,
                      (struct layout_sign){.what = "ExportProfilesServiceRequest", .number = 2, .type = WIRE_LEN});
    if (!layout_look_at_profiles(f, e))
        return ERR_INVALID;
    if (f->has_profile_containers && !f->has_profiles)
        return refuse_release("1.3", "which is not read", e);
    if (f->has_dictionary)
        return ERR_OK;
    if (v->possible == L7)
        return refuse_release("1.6", "whose requests cannot carry their tables", e);
    layout_narrow(v, (uint32_t)~L7, (struct layout_sign){.what = "no dictionary"});
    return ERR_OK;
}

static enum otlp_layout newest_of(uint32_t layouts)
{
    enum otlp_layout layout = OTLP_LAYOUT_CURRENT;
    while (layout > OTLP_LAYOUT_1_5 && (layouts & LAYOUT_BIT(layout)) == 0)
        layout = (enum otlp_layout)(layout - 1);
    return layout;
}

enum err_code otlp_layout_find(struct bytes request, const struct otlp_layout_hints *hints,
                               struct otlp_layout_finding *out, struct err *e)
{
    struct layout_finder f = {
        .request = request,
        .says_current = hints != NULL && hints->says_current,
        .view.possible = L_ALL,
    };
    enum otlp_layout assumed = hints == NULL ? OTLP_LAYOUT_AUTO : hints->assumed;
    if (request.len > UINT32_MAX) // nor can it be decoded
        return err_set(e, ERR_LIMIT, "an OTLP request has %zu bytes, at most %u can be read", request.len, UINT32_MAX);
    enum err_code code = look(&f, e);
    if (code == ERR_OK && !layout_single(f.view.possible))
        code = weigh(&f, e);
    if (code != ERR_OK)
        return code;
    if (!layout_single(f.view.possible) && (f.view.possible & LAYOUT_BIT(assumed)) != 0)
        layout_narrow(&f.view, LAYOUT_BIT(assumed), (struct layout_sign){.what = "the setting layouts.assume"});
    if (!layout_single(f.view.possible))
        return refuse(&f, e);
    out->layout = newest_of(f.view.possible);
    describe(&f, out->evidence, sizeof out->evidence);
    return ERR_OK;
}
