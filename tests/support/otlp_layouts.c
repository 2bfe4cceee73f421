// SPDX-License-Identifier: Apache-2.0
// otlp_layouts [--current] [--to LAYOUT] DIR FILE...: looks for the layout of each request and writes it as a current one, or
// in LAYOUT, to DIR, for judges that compare. Prints a line for each: the file, the layout ("refused" if there is none,
// "broken" if it cannot be read), and why. --current: as if the requests came with the header that says so.
#include "codec/otlp_decode_layout.h"
#include "codec/otlp_emit.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>

struct task {
    struct otlp_layout_hints hints;
    struct otlp_emission emission;
    const char *folder;
};

static enum err_code write_again(const struct task *t, const char *path, const struct batch *b, struct err *e)
{
    char to[4096];
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    enum err_code code = otlp_encode_as(b, &t->emission, &out, NULL, e);
    const char *slash = strrchr(path, '/');
    snprintf(to, sizeof to, "%s/%s", t->folder, slash == NULL ? path : slash + 1);
    FILE *f = code == ERR_OK ? fopen(to, "wb") : NULL;
    if (code == ERR_OK && (f == NULL || (out.len != 0 && fwrite(out.data, 1, out.len, f) != out.len)))
        code = err_set(e, ERR_IO, "%s cannot be written", to);
    if (f != NULL && fclose(f) != 0)
        code = err_set(e, ERR_IO, "%s cannot be written", to);
    buf_fini(&out);
    return code;
}

static void translate(const struct task *t, const char *path)
{
    struct bytes data = test_read_file(path);
    struct otlp_layout_finding finding;
    struct batch *b = NULL;
    struct err e = {0};
    const char *word = "refused";
    enum err_code code = otlp_layout_find(data, &t->hints, &finding, &e);
    if (code == ERR_OK) {
        word = "broken";
        code = otlp_decode_layout(data, finding.layout, NULL, &b, NULL, &e);
    }
    if (code == ERR_OK)
        code = write_again(t, path, b, &e);
    printf("%s\t%s\t%s\n", path, code == ERR_OK ? otlp_layout_names[finding.layout] : word,
           code == ERR_OK ? finding.evidence : e.text);
    batch_unref(&b);
    free((void *)(uintptr_t)data.data);
}

int main(int argc, char **argv)
{
    struct task t = {.emission = otlp_plain_emission};
    int next = 1;
    if (next < argc && strcmp(argv[next], "--current") == 0) {
        t.hints.says_current = true;
        next++;
    }
    if (next + 1 < argc && strcmp(argv[next], "--to") == 0) {
        if (!otlp_layout_from_name(argv[next + 1], &t.emission.layout))
            return 2;
        next += 2;
    }
    if (next + 1 >= argc)
        return 2;
    t.folder = argv[next];
    while (++next < argc)
        translate(&t, argv[next]);
    return 0;
}
