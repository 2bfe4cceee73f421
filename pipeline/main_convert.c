// SPDX-License-Identifier: Apache-2.0
// `profrelay convert`: one file in one format to one file in another.
#include "base/limits.h"
#include "base/text.h"
#include "codec/compress.h"
#include "codec/pprof.h"
#include "pipeline/profile_input.h"
#include "pipeline/profile_output.h"
#include "profile/merge.h"
#include "view/sample_types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct convert_options {
    struct input_options input; // first: see INPUT_OPTIONS
    struct option_values to, type, compression, layout;
};

struct conversion {
    const struct command_line *line;
    const struct convert_options *o;
    const char *in, *out;
    bool to_folder;
    const struct format *target;
    enum compression compression;
    struct batch *batch;
    struct err e;
};

// --- what is wanted ---

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcasecmp(text + len - end_len, end) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return ends_with(path, "/") || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static enum err_code choose_target(struct conversion *c)
{
    const char *to = option_last(&c->o->to);
    c->target = to != NULL ? format_find(to) : c->to_folder ? NULL : format_of_path(c->out);
    if (c->target == NULL && (c->to_folder || strcmp(c->out, "-") == 0))
        return err_set(&c->e, ERR_INVALID, "%s has no name that tells a format: give --to FORMAT", c->out);
    if (c->target == NULL)
        return err_set(&c->e, ERR_INVALID, "%s: no format has such an extension; give --to FORMAT", c->out);
    if (c->target->encode == NULL)
        return err_set(&c->e, ERR_UNSUPPORTED, "%s is read only, not written; give another --to FORMAT",
                       c->target->name);
    if (c->o->layout.count != 0 && c->target != &otlp_proto_format)
        return err_set(&c->e, ERR_INVALID, "--layout is of --to otlp_proto; %s has no layouts", c->target->name);
    return ERR_OK;
}

static const char *written_layout_name(size_t i)
{
    const size_t first = OTLP_LAYOUT_1_7;
    return first + i < OTLP_LAYOUTS ? otlp_layout_names[first + i] : NULL;
}

static enum compression choose_compression(const struct conversion *c)
{
    const char *said = option_last(&c->o->compression);
    enum compression kind;
    if (said != NULL && compression_from_name(said, &kind))
        return kind;
    if (ends_with(c->out, ".zst"))
        return COMPRESSION_ZSTD;
    return ends_with(c->out, ".gz") || c->target->gzip_by_default ? COMPRESSION_GZIP : COMPRESSION_NONE;
}

// --- one sample type ---

static bool is_of_type(void *arg, const struct batch *b, struct sample_position at)
{
    const struct profile *p = &b->resources[at.resource]->scopes[at.scope]->profiles[at.profile];
    const struct bytes *strings = b->dictionary->strings;
    return sample_type_is(bytes_from_text(arg), strings[p->sample_type.type], strings[p->sample_type.unit]);
}

static enum err_code select_type(struct conversion *c, const char *type)
{
    struct batch *selected;
    struct value_type chosen;
    enum err_code rc = sample_type_choose(c->batch, bytes_from_text(type), &chosen, &c->e);
    if (rc == ERR_OK)
        rc = batch_select(c->batch, is_of_type, (void *)(uintptr_t)type, &selected, &c->e);
    if (rc == ERR_OK && selected == NULL)
        rc = err_set(&c->e, ERR_INVALID, "there are no samples of the type %s", type);
    if (rc != ERR_OK)
        return rc;
    batch_unref(&c->batch);
    c->batch = selected;
    return ERR_OK;
}

// --- writing ---

static enum err_code compress(struct conversion *c, struct bytes content, struct buf *out)
{
    struct compressor *compressor = compressor_create(c->compression, 0);
    if (compressor == NULL)
        return err_set(&c->e, ERR_MEMORY, "out of memory for compressing");
    enum err_code rc = compressor_run(compressor, content, out, &c->e);
    compressor_destroy(&compressor);
    return rc;
}

static enum err_code write_content(struct conversion *c, const char *path, struct bytes content)
{
    if (c->compression == COMPRESSION_NONE)
        return output_write(path, content, &c->e);
    struct buf small;
    buf_init(&small, LIMIT_COMMAND_BYTES);
    enum err_code rc = compress(c, content, &small);
    if (rc == ERR_OK)
        rc = output_write(path, buf_bytes(&small), &c->e);
    buf_fini(&small);
    return rc;
}

// first: "" = not said.
static void note_lost(const struct conversion *c, uint64_t lost, const char *first)
{
    if (lost != 0)
        command_note(c->line, "%s left out that %s cannot hold: %s%s%s", TEXT_COUNT(lost, "thing"), c->target->name,
                     c->target->loses, first[0] != '\0' ? "; first: " : "", first);
}

static void note_report(const struct conversion *c, const struct encode_report *r)
{
    if (r->sample_type.len != 0 && r->sample_types > 1)
        command_note(c->line, "%s holds one sample type: %.*s was written, of %" PRIu32 "; choose with --type",
                     c->target->name, BYTES_PRINT(r->sample_type), r->sample_types);
    note_lost(c, r->lost, r->first_lost);
}

static enum err_code write_one(struct conversion *c, const char *path)
{
    const char *layout = option_last(&c->o->layout);
    struct encode_options options = {0}; // what --type asks for was selected before
    struct encode_report report = {0};
    struct buf content;
    if (layout != NULL)
        (void)!otlp_layout_from_name(layout, &options.layout);
    buf_init(&content, LIMIT_COMMAND_BYTES);
    enum err_code rc = c->target->encode(c->batch, &options, &content, &report, &c->e);
    if (rc == ERR_UNSUPPORTED && c->target == &pprof_format && c->batch->profile_count != 0)
        err_set(&c->e, rc, "%s; where OUT is a folder (DIR/) each gets a file", c->e.text);
    if (rc == ERR_OK)
        rc = write_content(c, path, buf_bytes(&content));
    if (rc == ERR_OK)
        note_report(c, &report);
    buf_fini(&content);
    return rc;
}

// --- into a folder ---

// Without what says the format, else without the last extension: "shop.prod" of "shop.prod.speedscope.json.gz".
static size_t stem_len(const char *name)
{
    const struct format *f = format_of_path(name);
    const size_t len = strlen(name) - (ends_with(name, ".gz") ? 3 : ends_with(name, ".zst") ? 4 : 0);
    for (const char *const *x = f != NULL ? f->extensions : NULL; x != NULL && *x != NULL; x++) {
        const size_t n = strlen(*x);
        if (len > n && strncasecmp(name + len - n, *x, n) == 0)
            return len - n;
    }
    const char *dot = memrchr(name, '.', len);
    return dot != NULL && dot != name ? (size_t)(dot - name) : len;
}

// "DIR/cpu.pb.gz" for the input "x/cpu.folded"; number 0 = none.
static void path_in_folder(const struct conversion *c, uint64_t number, char *out, size_t out_size)
{
    const char *slash = strrchr(c->in, '/'), *name = strcmp(c->in, "-") == 0 ? "profile" : c->in;
    name = slash != NULL ? slash + 1 : name;
    char suffix[24] = "";
    if (number != 0)
        snprintf(suffix, sizeof suffix, "-%" PRIu64, number);
    snprintf(out, out_size, "%s%s%.*s%s%s%s", c->out, ends_with(c->out, "/") ? "" : "/", (int)stem_len(name), name,
             suffix, c->target->extensions[0],
             c->compression == COMPRESSION_GZIP   ? ".gz"
             : c->compression == COMPRESSION_ZSTD ? ".zst"
                                                  : "");
}

static enum err_code write_group(struct conversion *c, const struct scope *s, uint32_t first, uint32_t count,
                                 uint64_t number, uint64_t *lost)
{
    char path[LIMIT_PATH_BYTES + 512];
    struct buf content;
    uint64_t lost_here = 0;
    path_in_folder(c, number, path, sizeof path);
    buf_init(&content, LIMIT_COMMAND_BYTES);
    enum err_code rc = pprof_encode(c->batch, s, first, count, &content, &lost_here, &c->e);
    if (rc == ERR_OK)
        rc = write_content(c, path, buf_bytes(&content));
    *lost += lost_here;
    buf_fini(&content);
    return rc;
}

static enum err_code write_groups_of(struct conversion *c, const struct scope *s, uint64_t *number, uint64_t *lost)
{
    enum err_code rc = ERR_OK;
    for (uint32_t first = 0, n; rc == ERR_OK && (n = pprof_group(s, first)) != 0; first += n)
        rc = write_group(c, s, first, n, ++*number, lost);
    return rc;
}

// A pprof file holds one profile: one file for each, numbered where there are several.
static enum err_code write_pprof_files(struct conversion *c)
{
    enum err_code rc = ERR_OK;
    uint64_t number = 0, lost = 0;
    if (pprof_group_count(c->batch) == 1) {
        char path[LIMIT_PATH_BYTES + 512];
        path_in_folder(c, 0, path, sizeof path);
        return write_one(c, path);
    }
    for (uint32_t r = 0; r < c->batch->resource_count; r++)
        for (uint32_t s = 0; rc == ERR_OK && s < c->batch->resources[r]->scope_count; s++)
            rc = write_groups_of(c, c->batch->resources[r]->scopes[s], &number, &lost);
    if (rc == ERR_OK)
        note_lost(c, lost, "");
    return rc;
}

static enum err_code make_folder(struct conversion *c)
{
    if (mkdir(c->out, 0777) != 0 && errno != EEXIST)
        return err_set(&c->e, ERR_IO, "cannot create the folder %s: %s", c->out, strerror(errno));
    return ERR_OK;
}

static enum err_code write_folder(struct conversion *c)
{
    char path[LIMIT_PATH_BYTES + 512];
    if (strlen(c->out) >= LIMIT_PATH_BYTES)
        return err_set(&c->e, ERR_INVALID, "the path of the folder has more than %d bytes", LIMIT_PATH_BYTES - 1);
    if (make_folder(c) != ERR_OK)
        return c->e.code;
    if (c->target == &pprof_format)
        return write_pprof_files(c);
    path_in_folder(c, 0, path, sizeof path);
    return write_one(c, path);
}

// --- the command ---

static enum err_code convert(struct conversion *c)
{
    const char *type = option_last(&c->o->type);
    struct decode_report report;
    enum err_code rc = input_read(c->line, c->in, &c->o->input, &c->batch, &report, &c->e);
    if (rc == ERR_OK && type != NULL)
        rc = select_type(c, type);
    if (rc == ERR_OK)
        rc = c->to_folder ? write_folder(c) : write_one(c, c->out);
    batch_unref(&c->batch);
    return rc;
}

static int run(const struct command_line *line)
{
    struct conversion c = {
        .line = line,
        .o = line->options,
        .in = line->arguments[0],
        .out = line->arguments[1],
        .to_folder = is_folder(line->arguments[1]),
    };
    if (choose_target(&c) != ERR_OK)
        return command_fail(line, EXIT_USAGE, &c.e);
    c.compression = choose_compression(&c);
    return convert(&c) == ERR_OK ? EXIT_OK : command_fail(line, EXIT_FAILED, &c.e);
}

static const struct option options[] = {
    INPUT_OPTIONS,
    {.name = "to",
     .letter = 't',
     .value = "FORMAT",
     .choice = output_format_name,
     .help = "what to write; default: told from the name of OUT",
     .offset = offsetof(struct convert_options, to)},
    {.name = "type",
     .value = "TYPE",
     .help = "only this sample type; where the target holds one, default the file's own",
     .offset = offsetof(struct convert_options, type)},
    {.name = "layout",
     .value = "LAYOUT",
     .choice = written_layout_name,
     .help = "otlp_proto: that of an older release; default current",
     .offset = offsetof(struct convert_options, layout)},
    {.name = "compression",
     .value = "gzip|zstd|none",
     .help = "of OUT; default: .gz and .zst say so, pprof is gzip",
     .offset = offsetof(struct convert_options, compression)},
};

static const struct command_example examples[] = {
    {"profrelay convert cpu.pb.gz cpu.folded", "one sample type as folded stacks"},
    {"perf script | profrelay convert - cpu.pb.gz", "what perf recorded, as pprof"},
    {"profrelay convert all.otlp out/ --to pprof", "one pprof file for each profile"},
    {"profrelay convert new.otlp old.otlp --layout 1.9", "for a backend that reads an older release"},
    {NULL, NULL},
};

const struct command convert_command = {
    .name = "convert",
    .arguments = "IN OUT",
    .help = "turn a file of profiles into another format",
    .text = "IN and OUT may be - for standard input and output. OUT is there whole or as it was before; if it is a "
            "folder\n(or ends in /) a file is written in it, for pprof one for each profile.",
    .options = OPTION_TABLE(options),
    .options_size = sizeof(struct convert_options),
    .examples = examples,
    .min_arguments = 2,
    .max_arguments = 2,
    .files = true,
    .run = run,
};
