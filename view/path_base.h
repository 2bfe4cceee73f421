// SPDX-License-Identifier: Apache-2.0
// The last part of a path, of Windows' too.
#ifndef VIEW_PATH_BASE_H
#define VIEW_PATH_BASE_H

#include "base/bytes.h"

static inline bool is_path_separator(uint8_t c)
{
    return c == '/' || c == '\\';
}

static inline struct bytes path_base(struct bytes path)
{
    while (path.len > 1 && is_path_separator(path.data[path.len - 1]))
        path.len--;
    for (size_t i = path.len; i > 1; i--) {
        if (is_path_separator(path.data[i - 2]))
            return (struct bytes){path.data + i - 1, path.len - i + 1};
    }
    return path;
}

#endif
