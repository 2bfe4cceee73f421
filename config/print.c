// SPDX-License-Identifier: Apache-2.0
// The tree as YAML that reads back as the same tree.
#include "base/mem.h"
#include "base/text.h"
#include "config/internal.h"
#include "config/load.h"

#include <ctype.h>
#include <stdlib.h>

#define HIDDEN "\"[REDACTED]\""

enum { ID_INDENT = 2 }; // of the keys below receivers:, extensions: and the like

struct printer {
    FILE *out;
    bool redact;
};

static void print_value(struct printer *p, const struct config_node *node, int indent, bool secret, bool in_list);

static bool reads_as_other(const char *text)
{
    bool boolean;
    int64_t integer;
    double number;
    return config_scalar_is_null(text) || config_scalar_bool(text, &boolean) || config_scalar_int(text, &integer) ||
           config_scalar_double(text, &number) || strcmp(text, "<<") == 0 || strcmp(text, "=") == 0 ||
           strncmp(text, "---", 3) == 0 || strncmp(text, "...", 3) == 0 || isdigit((unsigned char)text[0]) ||
           strchr("+.", text[0]) != NULL;
}

// Durations and sizes begin with a digit too, but read as strings: they need no quotes.
static bool is_number_with_unit(const char *text)
{
    int64_t nanos;
    uint64_t bytes;
    char last = text[strlen(text) - 1];
    return isdigit((unsigned char)text[0]) && isalpha((unsigned char)last) &&
           (duration_parse(text, &nanos) || size_parse(text, &bytes));
}

static bool plain_is_safe(const char *text)
{
    size_t len = strlen(text);
    if (len == 0 || strchr(" -?:,[]{}#&*!|>'\"%@`", text[0]) || strchr(" :", text[len - 1]))
        return false;
    for (const char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
            return false;
    return !strstr(text, ": ") && !strstr(text, " #");
}

// Characters beyond ASCII that YAML does not take as they are or takes for line breaks. Returns their length.
static size_t print_odd_character(const char *text, FILE *out)
{
    static const struct {
        const char *utf8, *escaped;
    } odd[] = {
        {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}, {"\xef\xbb\xbf", "\\ufeff"},
        {"\xef\xbf\xbe", "\\ufffe"}, {"\xef\xbf\xbf", "\\uffff"},
    };
    const unsigned char *p = (const unsigned char *)text;
    if (p[0] == 0xc2 && p[1] < 0xa0) {
        fprintf(out, "\\x%02x", (unsigned)p[1]);
        return 2;
    }
    for (size_t i = 0; i < COUNT_OF(odd); i++)
        if (strncmp(text, odd[i].utf8, 3) == 0) {
            fputs(odd[i].escaped, out);
            return 3;
        }
    return 0;
}

// Returns how many bytes of the text it was.
static size_t print_character(const char *p, FILE *out)
{
    size_t odd = print_odd_character(p, out);
    if (odd > 0)
        return odd;
    if (*p == '"' || *p == '\\')
        fprintf(out, "\\%c", *p);
    else if (*p == '\n')
        fputs("\\n", out);
    else if (*p == '\t')
        fputs("\\t", out);
    else if ((unsigned char)*p < 0x20 || *p == 0x7f)
        fprintf(out, "\\x%02x", (unsigned)(unsigned char)*p);
    else
        fputc(*p, out);
    return 1;
}

static void print_quoted(const char *text, bool is_key, FILE *out)
{
    char *repaired = NULL;
    if (!utf8_valid(bytes_from_text(text))) {
        size_t len = utf8_repair(bytes_from_text(text), NULL);
        repaired = mem_try_array(len + 1, 1);
        CHECK(repaired != NULL);
        repaired[utf8_repair(bytes_from_text(text), (uint8_t *)repaired)] = '\0';
        text = repaired;
    }
    fputc('"', out);
    for (const char *p = text; *p;) {
        // Read back, $$ and ${ would mean something else in a value.
        if (!is_key && p[0] == '$' && (p[1] == '$' || p[1] == '{'))
            fputc('$', out);
        p += print_character(p, out);
    }
    fputc('"', out);
    free(repaired);
}

static void print_text(const char *text, bool is_string, FILE *out)
{
    bool plain = plain_is_safe(text) && !strstr(text, "$$") && !strstr(text, "${");
    if (plain && (!is_string || !reads_as_other(text) || is_number_with_unit(text)))
        fputs(text, out);
    else
        print_quoted(text, false, out);
}

// The place of the password in "scheme://user:password@host", 0 = none.
static size_t url_password(const char *text, size_t *len_out)
{
    const char *host = strstr(text, "://");
    if (!host)
        return 0;
    host += 3;
    size_t authority = strcspn(host, "/?# ");
    const char *at = memrchr(host, '@', authority);
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    if (!colon)
        return 0;
    *len_out = (size_t)(at - colon) - 1;
    return (size_t)(colon + 1 - text);
}

// Where the query of a URL begins, which may hold an API key; 0 = none.
static size_t url_query(const char *text)
{
    size_t scheme = config_scheme_length(text), query = strcspn(text, "?");
    bool has = scheme > 0 && strncmp(text + scheme, "://", 3) == 0 && text[query] != '\0' && text[query + 1] != '\0';
    return has ? query + 1 : 0;
}

static void print_scalar(struct printer *p, const struct config_node *node)
{
    size_t len = 0, password = p->redact ? url_password(node->text, &len) : 0;
    size_t query = p->redact ? url_query(node->text) : 0, end = query > 0 ? query : strlen(node->text);
    if (password == 0 && query == 0) {
        print_text(node->text, node->quoted, p->out);
        return;
    }
    struct buf shown;
    buf_init(&shown, strlen(node->text) + 2 * sizeof "[REDACTED]");
    buf_add(&shown, node->text, password);
    if (password > 0)
        buf_add_text(&shown, "[REDACTED]");
    buf_add(&shown, node->text + password + len, end - password - len);
    if (query > 0)
        buf_add_text(&shown, "[REDACTED]");
    buf_add_byte(&shown, 0);
    CHECK(buf_ok(&shown));
    print_text((const char *)shown.data, true, p->out);
    buf_fini(&shown);
}

// A key in one line with its colon must not be longer than 1024 characters, quotes and escapes included.
static void print_key(const char *key, int indent, FILE *out)
{
    bool is_long = strlen(key) > 128;
    if (is_long)
        fputs("? ", out);
    if (plain_is_safe(key) && !reads_as_other(key))
        fputs(key, out);
    else
        print_quoted(key, true, out);
    if (is_long)
        fprintf(out, "\n%*s", indent, "");
    fputc(':', out);
}

// What stands beside the secret in an item of a list, as in {name: authorization, value: ...}.
static bool is_told(const char *key)
{
    static const char *const told[] = {"name", "key", "action", "from_attribute", "from_context", "value_file"};
    for (size_t i = 0; i < COUNT_OF(told); i++)
        if (strcmp(key, told[i]) == 0)
            return true;
    return false;
}

static void print_map(struct printer *p, const struct config_node *node, int indent, bool secret, bool in_list)
{
    for (size_t i = 0; i < node->count; i++) {
        const struct config_entry *e = &node->entries[i];
        // The first key of a list's item stands behind its dash.
        fprintf(p->out, "%*s", in_list && i == 0 ? 0 : indent, "");
        print_key(e->key, indent, p->out);
        // The id of a component, as in bearertokenauth: {filename: ...}, makes its keys no secrets.
        bool is_id = indent == ID_INDENT && e->value->kind == CONFIG_MAP;
        bool hide = (secret && !(in_list && is_told(e->key))) || (!is_id && config_key_is_secret(e->key));
        print_value(p, e->value, indent, hide, false);
    }
}

static void print_list(struct printer *p, const struct config_node *node, int indent, bool secret)
{
    for (size_t i = 0; i < node->count; i++) {
        fprintf(p->out, "%*s-", indent, "");
        print_value(p, node->items[i], indent, secret, true);
    }
}

static void print_value(struct printer *p, const struct config_node *node, int indent, bool secret, bool in_list)
{
    bool nests = (node->kind == CONFIG_MAP || node->kind == CONFIG_LIST) && node->count > 0;
    fputs(nests && (!in_list || node->kind == CONFIG_LIST) ? "\n" : " ", p->out);
    if (nests && node->kind == CONFIG_MAP)
        print_map(p, node, indent + 2, secret, in_list);
    else if (nests)
        print_list(p, node, indent + 2, secret);
    else if (node->kind == CONFIG_MAP || node->kind == CONFIG_LIST)
        fputs(node->kind == CONFIG_MAP ? "{}" : "[]", p->out);
    else if (node->kind == CONFIG_NULL && (!node->original || config_scalar_is_null(node->original)))
        fputs("null", p->out);
    else if (p->redact && (secret || node->secret))
        fputs(HIDDEN, p->out);
    else if (node->kind == CONFIG_NULL)
        print_text(node->original, false, p->out);
    else
        print_scalar(p, node);
    if (!nests)
        fputc('\n', p->out);
}

void config_print(const struct config_node *root, bool redact, FILE *out)
{
    struct printer p = {out, redact};
    if (root && root->kind == CONFIG_MAP && root->count > 0)
        print_map(&p, root, 0, false, false);
    else
        fputs("{}\n", out);
}
