// SPDX-License-Identifier: Apache-2.0
#include "extensions/extensions.h"

static const struct module *const extensions[] = {
    &file_storage_extension.module,
};

const struct module_table extensions_table = {extensions, COUNT_OF(extensions)};
