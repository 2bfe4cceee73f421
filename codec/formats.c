// SPDX-License-Identifier: Apache-2.0
#include "codec/formats.h"

#include "codec/otlp.h"
#include "codec/pprof.h"
#include "profile/edit.h"

#include <string.h>
#include <strings.h>

// --- pprof ---

static const char *const pprof_extensions[] = {".pb", ".pprof", ".prof", NULL};

static enum err_code encode_pprof(const struct batch *b, const struct encode_options *options, struct buf *out,
                                  struct encode_report *report, struct err *e)
{
    (void)options;
    const struct scope *scope = NULL;
    uint32_t groups = 0;
    for (uint32_t r = 0; r < b->resource_count; r++) {
        for (uint32_t s = 0; s < b->resources[r]->scope_count; s++) {
            const struct scope *at = b->resources[r]->scopes[s];
            for (uint32_t first = 0, n; (n = pprof_group(at, first)) != 0; first += n, groups++)
                scope = groups == 0 ? at : scope;
        }
    }
    if (groups != 1)
        return err_set(e, ERR_UNSUPPORTED, "a pprof file holds one profile, this input has %u", groups);
    report->profiles = b->profile_count;
    return pprof_encode(b, scope, 0, pprof_group(scope, 0), out, &report->lost, e);
}

const struct format pprof_format = {
    .name = "pprof",
    .extensions = pprof_extensions,
    .help = "pprof's profile.proto",
    .decode = pprof_decode_inflated,
    .encode = encode_pprof,
    .gzip_by_default = true,
};

// --- OTLP ---

static const char *const otlp_extensions[] = {".otlp", ".binpb", NULL};

static enum err_code decode_otlp(struct bytes data, struct bytes original, const struct decode_options *options,
                                 struct batch **out, struct decode_report *report, struct err *e)
{
    (void)original;
    const struct decode_limits *l = decode_limits_of(options);
    struct otlp_limits limits = otlp_default_limits;
    limits.max_samples = l->max_samples;
    limits.max_stack_depth = l->max_stack_depth;
    limits.max_batch_bytes = l->max_batch_bytes;
    enum err_code rc = otlp_decode(data, &limits, out, e);
    if (rc == ERR_OK) {
        report->samples = (*out)->sample_count;
        report->sample_types = (*out)->profile_count;
    }
    return rc;
}

static enum err_code encode_otlp(const struct batch *b, const struct encode_options *options, struct buf *out,
                                 struct encode_report *report, struct err *e)
{
    (void)options;
    report->profiles = b->profile_count;
    return otlp_encode(b, out, e);
}

const struct format otlp_proto_format = {
    .name = "otlp_proto",
    .extensions = otlp_extensions,
    .help = "one OTLP export request in protobuf",
    .recognise = pprof_is_otlp,
    .decode = decode_otlp,
    .encode = encode_otlp,
};

const struct format *const formats[] = {&otlp_proto_format, &pprof_format, NULL};

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
    }
    buf_fini(&storage);
    return rc;
}
