// SPDX-License-Identifier: Apache-2.0
#include "processors/text_pattern.h"

const char *const text_pattern_types[] = {[TEXT_STRICT] = "strict", [TEXT_REGEXP] = "regexp", NULL};

enum err_code text_pattern_init(int type, const char *text, struct text_pattern *out, struct err *e)
{
    *out = (struct text_pattern){.any = text == NULL, .text = bytes_from_text(text)};
    return text != NULL && type == TEXT_REGEXP ? regex_compile(out->text, &out->regex, e) : ERR_OK;
}

void text_pattern_fini(struct text_pattern *p)
{
    regex_destroy(&p->regex);
}
