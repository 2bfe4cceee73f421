// SPDX-License-Identifier: Apache-2.0
// Input: a Content-Type, a line feed, a body. Either it is refused with a reason or its parts lie in it, in order.
#include "base/check.h"
#include "codec/multipart.h"

static bool lies_in(struct bytes part, struct bytes whole)
{
    return part.len == 0 || (part.data >= whole.data && part.data + part.len <= whole.data + whole.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    if (end == NULL)
        return 0;
    const struct bytes type = {data, (size_t)(end - data)}, body = {end + 1, size - type.len - 1};
    struct multipart m;
    struct err e = {0};
    const enum err_code code = multipart_parse(type, body, &m, &e);
    (void)multipart_is(type);
    CHECK(code == ERR_OK || ((code == ERR_INVALID || code == ERR_LIMIT) && e.code == code && e.text[0] != '\0'));
    for (size_t i = 0; code == ERR_OK && i < m.count; i++) {
        const struct multipart_part *p = &m.parts[i];
        CHECK(lies_in(p->name, body) && lies_in(p->filename, body) && lies_in(p->content_type, body));
        CHECK(lies_in(p->body, body));
        CHECK(i == 0 || p->body.data > m.parts[i - 1].body.data);
    }
    if (code == ERR_OK)
        (void)multipart_find(&m, "profile");
    return 0;
}
