// SPDX-License-Identifier: Apache-2.0
// otlp_layouts DIR FILE...: looks for the layout of each request and writes it as a current one to DIR, for judges that
// compare. Prints a line for each: the file, the layout ("refused" if there is none, "broken" if it cannot be read), and why.
#include "codec/otlp.h"
#include "codec/otlp_decode_layout.h"
#include "tests/support/test_files.h"

#include <stdio.h>
#include <stdlib.h>

static enum err_code write_current(const char *folder, const char *path, const struct batch *b, struct err *e)
{
    char to[4096];
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    enum err_code code = otlp_encode(b, &out, e);
    const char *slash = strrchr(path, '/');
    snprintf(to, sizeof to, "%s/%s", folder, slash == NULL ? path : slash + 1);
    FILE *f = code == ERR_OK ? fopen(to, "wb") : NULL;
    if (code == ERR_OK && (f == NULL || (out.len != 0 && fwrite(out.data, 1, out.len, f) != out.len)))
        code = err_set(e, ERR_IO, "%s cannot be written", to);
    if (f != NULL && fclose(f) != 0)
        code = err_set(e, ERR_IO, "%s cannot be written", to);
    buf_fini(&out);
    return code;
}

static void translate(const char *folder, const char *path, const struct otlp_layout_hints *hints)
{
    struct bytes data = test_read_file(path);
    struct otlp_layout_finding finding;
    struct batch *b = NULL;
    struct err e = {0};
    const char *word = "refused";
    enum err_code code = otlp_layout_find(data, hints, &finding, &e);
    if (code == ERR_OK) {
        word = "broken";
        code = otlp_decode_layout(data, finding.layout, NULL, &b, NULL, &e);
    }
    if (code == ERR_OK)
        code = write_current(folder, path, b, &e);
    printf("%s\t%s\t%s\n", path, code == ERR_OK ? otlp_layout_names[finding.layout] : word,
           code == ERR_OK ? finding.evidence : e.text);
    batch_unref(&b);
    free((void *)(uintptr_t)data.data);
}

// --current: as if the requests came with the header that says so.
int main(int argc, char **argv)
{
    int first = argc > 1 && strcmp(argv[1], "--current") == 0 ? 2 : 1;
    const struct otlp_layout_hints hints = {.says_current = first == 2};
    for (int i = first + 1; i < argc; i++)
        translate(argv[first], argv[i], &hints);
    return argc > first + 1 ? 0 : 2;
}
