// SPDX-License-Identifier: Apache-2.0
#include "codec/multipart.h"

#include <ctype.h>
#include <strings.h>

static bool is_space(uint8_t c) // CR and LF stand in a header that is continued on the next line
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct bytes trim_start(struct bytes b)
{
    while (b.len > 0 && is_space(*b.data)) {
        b.data++;
        b.len--;
    }
    return b;
}

static struct bytes trim(struct bytes b)
{
    b = trim_start(b);
    while (b.len > 0 && is_space(b.data[b.len - 1]))
        b.len--;
    return b;
}

static bool equal_any_case(struct bytes b, const char *text)
{
    return b.len == strlen(text) && strncasecmp((const char *)b.data, text, b.len) == 0;
}

// What stands before the first c, which is taken too, or all.
static struct bytes take_until(struct bytes *rest, uint8_t c)
{
    if (rest->len == 0)
        return *rest;
    const uint8_t *at = memchr(rest->data, c, rest->len);
    const size_t len = at == NULL ? rest->len : (size_t)(at - rest->data);
    const struct bytes taken = {rest->data, len};
    rest->data += at == NULL ? len : len + 1;
    rest->len -= at == NULL ? len : len + 1;
    return taken;
}

// --- parameters of a header ---

// rest begins behind the opening quote; what stands before the closing one, escapes and all.
static struct bytes take_quoted(struct bytes *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->data[len] != '"')
        len += rest->data[len] == '\\' && len + 1 < rest->len ? 2 : 1;
    const struct bytes taken = {rest->data, len};
    rest->data += len;
    rest->len -= len;
    return taken;
}

// The next "name=value" behind a ';'. Unquoted values may have any character but ';', as boundaries are sent.
static bool next_parameter(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    while (rest->len > 0 && (is_space(*rest->data) || *rest->data == ';')) {
        rest->data++;
        rest->len--;
    }
    if (rest->len == 0)
        return false;
    size_t len = 0;
    while (len < rest->len && rest->data[len] != '=' && rest->data[len] != ';')
        len++;
    *name = trim((struct bytes){rest->data, len});
    *value = (struct bytes){rest->data + len, 0};
    const bool has_value = len < rest->len && rest->data[len] == '=';
    rest->data += has_value ? len + 1 : len;
    rest->len -= has_value ? len + 1 : len;
    const struct bytes ahead = trim_start(*rest);
    if (has_value && ahead.len > 0 && *ahead.data == '"') {
        *rest = (struct bytes){ahead.data + 1, ahead.len - 1};
        *value = take_quoted(rest);
        (void)take_until(rest, ';');
    } else if (has_value) {
        *value = trim(take_until(rest, ';'));
    }
    return true;
}

static void skip_escape(struct bytes *text)
{
    if (text->len > 1 && *text->data == '\\') {
        text->data++;
        text->len--;
    }
}

static bool equal_unescaped(struct bytes quoted, const char *text)
{
    for (; quoted.len > 0; quoted.data++, quoted.len--, text++) {
        skip_escape(&quoted);
        if (*quoted.data == '\0' || *quoted.data != (uint8_t)*text)
            return false;
    }
    return *text == '\0';
}

// --- the boundary ---

struct boundary {
    uint8_t text[2 + MULTIPART_MAX_BOUNDARY]; // with "--" in front
    size_t len;
};

bool multipart_is(struct bytes content_type)
{
    return equal_any_case(trim(take_until(&content_type, ';')), "multipart/form-data");
}

static enum err_code boundary_unescape(struct bytes value, struct boundary *b, struct err *e)
{
    const size_t sent = value.len;
    b->text[0] = b->text[1] = '-';
    for (b->len = 2; value.len > 0; value.data++, value.len--) {
        skip_escape(&value);
        if (b->len == sizeof b->text)
            return err_set(e, ERR_INVALID, "Content-Type: the boundary has %zu characters, allowed are %d", sent,
                           MULTIPART_MAX_BOUNDARY);
        if (*value.data < ' ' || *value.data > '~')
            return err_set(e, ERR_INVALID, "Content-Type: the boundary has the character 0x%02x", *value.data);
        b->text[b->len++] = *value.data;
    }
    return b->len > 2 ? ERR_OK : err_set(e, ERR_INVALID, "Content-Type: the boundary is empty");
}

static enum err_code boundary_read(struct bytes content_type, struct boundary *b, struct err *e)
{
    struct bytes name, value;
    (void)take_until(&content_type, ';');
    while (next_parameter(&content_type, &name, &value))
        if (equal_any_case(name, "boundary"))
            return boundary_unescape(value, b, e);
    return err_set(e, ERR_INVALID, "Content-Type: multipart/form-data without a boundary");
}

// --- the body ---

struct parser {
    struct boundary boundary;
    const uint8_t *start, *at, *end;
    size_t line_end; // bytes of a line's end: 2 with CRLF, 1 with LF
    bool closed;     // the last boundary was passed
    struct multipart *out;
    struct err *e;
};

static enum err_code damaged(const struct parser *p, const char *what)
{
    return err_set(p->e, ERR_INVALID, "multipart: part %zu: %s at byte %zu", p->out->count + 1, what,
                   (size_t)(p->at - p->start));
}

// A line's end at `at`, of the kind that is due: its size; 0 = there is none.
static size_t line_end_at(const struct parser *p, const uint8_t *at)
{
    if (p->end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        return p->line_end == 1 ? 0 : 2;
    return at < p->end && *at == '\n' && p->line_end != 2 ? 1 : 0;
}

// Whether a line that is a boundary begins at `line`; then where the next one begins.
static bool boundary_at(const struct parser *p, const uint8_t *line, bool *closing_out, const uint8_t **next_out)
{
    if ((size_t)(p->end - line) < p->boundary.len || memcmp(line, p->boundary.text, p->boundary.len) != 0)
        return false;
    const uint8_t *at = line + p->boundary.len;
    *closing_out = p->end - at >= 2 && at[0] == '-' && at[1] == '-';
    at += *closing_out ? 2 : 0;
    while (at < p->end && (*at == ' ' || *at == '\t'))
        at++;
    const size_t line_end = line_end_at(p, at);
    *next_out = at + line_end;
    return line_end != 0 || (*closing_out && (at == p->end || *at == '\r' || *at == '\n'));
}

// Steps behind the next boundary line; *content_end_out: where its content ended. A boundary holds no LF, so no byte is
// compared twice.
static bool pass_boundary(struct parser *p, const uint8_t *from, const uint8_t **content_end_out)
{
    for (const uint8_t *at = from; at < p->end; at++) {
        at = memchr(at, '\n', (size_t)(p->end - at));
        if (at == NULL)
            return false;
        const bool has_cr = at > from && at[-1] == '\r';
        if ((has_cr || p->line_end == 1) && boundary_at(p, at + 1, &p->closed, &p->at)) {
            *content_end_out = p->line_end == 2 ? at - 1 : at;
            return true;
        }
    }
    return false;
}

// The first boundary stands at the very start or behind a preamble, and tells how lines end.
static enum err_code pass_preamble(struct parser *p)
{
    const uint8_t *line = p->start;
    while (line != NULL && line < p->end) {
        if (boundary_at(p, line, &p->closed, &p->at)) {
            p->line_end = p->at - line >= 2 && p->at[-1] == '\n' && p->at[-2] != '\r' ? 1 : 2;
            return ERR_OK;
        }
        line = memchr(line, '\n', (size_t)(p->end - line));
        line = line == NULL ? NULL : line + 1;
    }
    return err_set(p->e, ERR_INVALID, "multipart: the boundary of the Content-Type is not in the body");
}

// The header at p->at with the lines that continue it; false = the empty line that ends the headers, or no line.
static bool take_header(struct parser *p, struct bytes *header_out)
{
    const uint8_t *at = p->at, *stop = NULL;
    if (line_end_at(p, at) != 0)
        return false;
    do {
        stop = memchr(at, '\n', (size_t)(p->end - at));
        at = stop == NULL ? p->end : stop + 1;
    } while (at < p->end && (*at == ' ' || *at == '\t'));
    *header_out = (struct bytes){p->at, (size_t)(at - p->at)};
    p->at = at;
    return stop != NULL;
}

static void read_disposition(struct bytes value, struct multipart_part *part)
{
    struct bytes name, text;
    (void)take_until(&value, ';');
    while (next_parameter(&value, &name, &text)) {
        if (equal_any_case(name, "name"))
            part->name = text;
        else if (equal_any_case(name, "filename"))
            part->filename = text;
    }
}

static enum err_code read_headers(struct parser *p, struct multipart_part *part)
{
    struct bytes header;
    bool closing;
    const uint8_t *next;
    while (!boundary_at(p, p->at, &closing, &next) && take_header(p, &header)) {
        const struct bytes name = trim(take_until(&header, ':'));
        if (equal_any_case(name, "content-disposition"))
            read_disposition(header, part);
        else if (equal_any_case(name, "content-type"))
            part->content_type = trim(header);
    }
    return line_end_at(p, p->at) != 0 ? ERR_OK : damaged(p, "no empty line between headers and content");
}

static enum err_code read_part(struct parser *p)
{
    struct multipart_part part = {0};
    if (p->out->count == MULTIPART_MAX_PARTS)
        return err_set(p->e, ERR_LIMIT, "multipart: the form has at least %d parts, allowed are %d",
                       MULTIPART_MAX_PARTS + 1, MULTIPART_MAX_PARTS);
    const enum err_code code = read_headers(p, &part);
    if (code != ERR_OK)
        return code;
    // Of an empty part the empty line may be the boundary's own.
    const uint8_t *empty_line = p->at, *content = empty_line + p->line_end, *content_end;
    if (!pass_boundary(p, empty_line, &content_end)) {
        p->at = p->end;
        return damaged(p, "the body ends without the closing boundary");
    }
    part.body = (struct bytes){content, content_end > content ? (size_t)(content_end - content) : 0};
    p->out->parts[p->out->count++] = part;
    return ERR_OK;
}

enum err_code multipart_parse(struct bytes content_type, struct bytes body, struct multipart *out, struct err *e)
{
    const uint8_t *start = body.len != 0 ? body.data : (const uint8_t *)"";
    struct parser p = {.start = start, .at = start, .end = start + body.len, .out = out, .e = e};
    out->count = 0;
    enum err_code code = boundary_read(content_type, &p.boundary, e);
    if (code == ERR_OK)
        code = pass_preamble(&p);
    while (code == ERR_OK && !p.closed)
        code = read_part(&p);
    return code;
}

const struct multipart_part *multipart_find(const struct multipart *m, const char *name)
{
    for (size_t i = 0; i < m->count; i++)
        if (equal_unescaped(m->parts[i].name, name))
            return &m->parts[i];
    return NULL;
}
