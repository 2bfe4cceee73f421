// SPDX-License-Identifier: Apache-2.0
#include "view/flame_page.h"

#include "view/flame_data.h"
#include "view/flame_parts.h"

enum err_code flame_html(const struct call_tree *trees, size_t count, const struct flame_options *options,
                         struct buf *out, struct err *e)
{
    buf_add(out, flame_page_before_data.data, flame_page_before_data.len);
    enum err_code code = flame_data_write(trees, count, options->title, out, e);
    buf_add(out, flame_page_after_data.data, flame_page_after_data.len);
    return code != ERR_OK ? code : flame_written(out, e);
}
