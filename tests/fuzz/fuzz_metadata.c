// SPDX-License-Identifier: Apache-2.0
// Input: what a metadata service answers, as a document and as a line. Either it is refused with a reason, or what was
// taken from it are texts that may be attributes.
#include "base/mem.h"
#include "base/text.h"
#include "detect/metadata_service.h"

static const struct detector any = {.name = "any"};

static const struct metadata_member members[] = {
    {NULL, "vmId", "host.id"},
    {"osProfile", "computerName", "host.name"},
    {NULL, "name", "host.name"},
    {NULL, "name", "azure.vm.name"},
};

static void check_reason(enum err_code code, const struct err *e)
{
    CHECK(code == ERR_OK ||
          ((code == ERR_INVALID || code == ERR_LIMIT || code == ERR_MEMORY || code == ERR_UNSUPPORTED) &&
           e->code == code && e->text[0] != '\0'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct detector_run run = {.detector = &any};
    struct metadata_walk walk = {.run = &run};
    struct bytes line = {NULL, 0};
    struct err e = {0};
    const struct bytes body = {data, size};
    arena_init(&run.found.arena, 0);
    enum err_code code = metadata_document(&walk, body, members, COUNT_OF(members), &e);
    check_reason(code, &e);
    CHECK(code != ERR_OK || run.found.count > 0);
    for (uint32_t i = 0; i < run.found.count; i++) {
        const struct value *v = &run.found.list[i].value;
        CHECK(v->kind == VALUE_STRING && v->bytes.len > 0 && utf8_valid(v->bytes));
    }
    code = metadata_line(body, METADATA_MAX_TOKEN_BYTES, &line, &e);
    check_reason(code, &e);
    CHECK(code != ERR_OK || (line.len <= METADATA_MAX_TOKEN_BYTES && utf8_valid(line)));
    detector_found_fini(&run.found);
    return 0;
}
