// SPDX-License-Identifier: Apache-2.0
#include "codec/formats.h"

#include "codec/folded.h"
#include "codec/legacy.h"
#include "codec/otlp_emit.h"
#include "codec/otlp_json.h"
#include "codec/otlp_messages.h"
#include "codec/perf_script.h"
#include "codec/pprof.h"
#include "codec/speedscope.h"
#include "profile/edit.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

// --- pprof ---

static const char *const pprof_extensions[] = {".pb", ".pprof", ".prof", NULL};

// The scope with the one profile there is.
static const struct scope *only_scope(const struct batch *b)
{
    for (uint32_t r = 0; r < b->resource_count; r++)
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++)
            if (b->resources[r]->scopes[s]->profile_count != 0)
                return b->resources[r]->scopes[s];
    return NULL;
}

static enum err_code encode_pprof(const struct batch *b, const struct encode_options *options, struct buf *out,
                                  struct encode_report *report, struct err *e)
{
    (void)options;
    uint64_t groups = pprof_group_count(b);
    if (groups != 1)
        return err_set(e, ERR_UNSUPPORTED, "a pprof file holds one profile, this input has %" PRIu64, groups);
    const struct scope *scope = only_scope(b);
    report->profiles = b->profile_count;
    return pprof_encode(b, scope, 0, scope->profile_count, out, &report->lost, e);
}

const struct format pprof_format = {
    .name = "pprof",
    .extensions = pprof_extensions,
    .help = "pprof's profile.proto",
    .decode = pprof_decode_inflated,
    .encode = encode_pprof,
    .loses = "attribute values that are no label, timestamps, frame types",
    .gzip_by_default = true,
};

// --- OTLP ---

static const char *const otlp_extensions[] = {".otlp", ".binpb", NULL};

static enum err_code decode_otlp(struct bytes data, struct bytes original, const struct decode_options *options,
                                 struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original;
    return otlp_file_decode(data, options, out, report, e);
}

static enum err_code encode_otlp(const struct batch *b, const struct encode_options *options, struct buf *out,
                                 struct encode_report *report, struct err *e)
{
    struct otlp_emission how = otlp_plain_emission;
    struct otlp_emission_report emitted;
    how.layout = options->layout == OTLP_LAYOUT_AUTO ? OTLP_LAYOUT_CURRENT : options->layout;
    report->profiles = b->profile_count;
    enum err_code rc = otlp_encode_as(b, &how, out, &emitted, e);
    report->lost = emitted.lost;
    memcpy(report->first_lost, emitted.first, sizeof report->first_lost);
    return rc;
}

const struct format otlp_proto_format = {
    .name = "otlp_proto",
    .extensions = otlp_extensions,
    .help = "OTLP export requests in protobuf: one, or what the file exporter writes",
    .recognise = otlp_file_recognise,
    .decode = decode_otlp,
    .encode = encode_otlp,
    .loses = "what an older layout has no field for",
};

static const char *const otlp_json_extensions[] = {".otlp.json", ".json", ".jsonl", NULL};

static enum err_code decode_otlp_json(struct bytes data, struct bytes original, const struct decode_options *options,
                                      struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original;
    enum err_code rc = otlp_json_decode(data, options, out, report, e);
    // To OTLP any object is a request without profiles; a file of that kind is somebody else's.
    if (rc != ERR_OK || (*out)->resource_count != 0 || otlp_json_recognise(data))
        return rc;
    batch_unref(out);
    return err_set(e, ERR_UNSUPPORTED, "it is JSON, but not OTLP's: it has no resourceProfiles");
}

static enum err_code encode_otlp_json(const struct batch *b, const struct encode_options *options, struct buf *out,
                                      struct encode_report *report, struct err *e)
{
    (void)options;
    report->profiles = b->profile_count;
    return otlp_json_encode(b, out, e);
}

const struct format otlp_json_format = {
    .name = "otlp_json",
    .extensions = otlp_json_extensions,
    .help = "OTLP export requests in JSON, one or more",
    .recognise = otlp_json_recognise,
    .decode = decode_otlp_json,
    .encode = encode_otlp_json,
};

// --- text ---

static const char *const folded_extensions[] = {".folded", ".collapsed", ".stacks", NULL};

const struct format folded_format = {
    .name = "folded",
    .extensions = folded_extensions,
    .help = "folded stacks: frame;frame count",
    .recognise = folded_recognise,
    .decode = folded_decode,
    .encode = folded_encode,
    .loses = "attributes of samples, links, timestamps",
};

static const char *const perf_script_extensions[] = {".perf", NULL};

const struct format perf_script_format = {
    .name = "perf_script",
    .extensions = perf_script_extensions,
    .help = "text of perf script",
    .recognise = perf_script_recognise,
    .decode = perf_script_decode,
};

static const char *const speedscope_extensions[] = {".speedscope.json", ".speedscope", NULL};

const struct format speedscope_format = {
    .name = "speedscope",
    .extensions = speedscope_extensions,
    .help = "speedscope's JSON",
    .recognise = speedscope_recognise,
    .decode = speedscope_decode,
};

// --- before profile.proto ---

static const char *const pprof_legacy_extensions[] = {".heap", NULL};

const struct format pprof_legacy_format = {
    .name = "pprof_legacy",
    .extensions = pprof_legacy_extensions,
    .help = "gperftools' CPU, heap, contention and thread profiles, jemalloc's heap, Go's texts (?debug=1)",
    .recognise = legacy_recognise,
    .decode = legacy_decode,
};

const struct format *const formats[] = {
    &otlp_proto_format, &speedscope_format,  &otlp_json_format, &pprof_legacy_format,
    &folded_format,     &perf_script_format, &pprof_format,     NULL};

// --- finding ---

const struct format *format_find(const char *name)
{
    for (const struct format *const *f = formats; *f != NULL; f++)
        if (strcasecmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}

static bool ends_with(const char *path, size_t len, const char *extension)
{
    size_t n = strlen(extension);
    return len > n && strncasecmp(path + len - n, extension, n) == 0;
}

const struct format *format_of_path(const char *path)
{
    size_t len = strlen(path);
    len -= ends_with(path, len, ".gz") ? 3 : ends_with(path, len, ".zst") ? 4 : 0;
    for (const struct format *const *f = formats; *f != NULL; f++)
        for (const char *const *x = (*f)->extensions; *x != NULL; x++)
            if (ends_with(path, len, *x))
                return *f;
    return NULL;
}

const struct format *format_recognise(struct bytes data, const char *path)
{
    for (const struct format *const *f = formats; *f != NULL; f++)
        if ((*f)->recognise != NULL && (*f)->recognise(data))
            return *f;
    const struct format *by_path = path != NULL ? format_of_path(path) : NULL;
    return by_path != NULL ? by_path : &pprof_format; // whose errors name what it is instead
}

static bool is_allowed(const struct format *f, const struct format *const *allowed)
{
    for (; allowed != NULL && *allowed != NULL; allowed++)
        if (*allowed == f)
            return true;
    return allowed == NULL;
}

static enum err_code decode_as(const struct format *f, const struct format_choice *choice, struct bytes data,
                               struct bytes original, const struct decode_options *options, struct batch **out,
                               struct decode_report *report, struct err *e)
{
    report->format = f->name;
    if (f->decode == NULL)
        return err_set(e, ERR_UNSUPPORTED, "%s is written only, not read", f->name);
    if (!is_allowed(f, choice->allowed))
        return err_set(e, ERR_UNSUPPORTED, "it looks like %s (%s), which is not taken here", f->name, f->help);
    return f->decode(data, original, options, out, report, e);
}

enum err_code format_decode(struct bytes data, const struct format_choice *choice, const struct decode_options *options,
                            struct batch **out, struct decode_report *report, struct err *e)
{
    static const struct decode_options no_options;
    struct decode_report unwanted;
    struct buf storage;
    struct bytes inflated;
    report = report != NULL ? report : &unwanted;
    options = options != NULL ? options : &no_options;
    *report = (struct decode_report){0};
    *out = NULL;
    buf_init(&storage, SIZE_MAX);
    enum err_code rc = decode_inflate(data, decode_limits_of(options), &storage, &inflated, report, e);
    if (rc == ERR_OK) {
        const struct format *f = choice->format != NULL ? choice->format : format_recognise(inflated, choice->path);
        rc = decode_as(f, choice, inflated, data, options, out, report, e);
        const char *other = f == &pprof_format && choice->format == NULL ? pprof_describe_other(inflated) : NULL;
        if (rc == ERR_UNSUPPORTED && other != NULL &&
            choice->allowed == NULL) // pprof's reader was only the last to ask
            err_set(e, rc, "not a profile in any known format: it looks like %s", other);
    }
    buf_fini(&storage);
    return rc;
}
