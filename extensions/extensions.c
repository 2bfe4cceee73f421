// SPDX-License-Identifier: Apache-2.0
#include "extensions/extensions.h"

static const struct module *const extensions[] = {
    &basicauth_extension.module,      &bearertokenauth_extension.module, &file_storage_extension.module,
    &headers_setter_extension.module, &health_check_extension.module,
};

const struct module_table extensions_table = {extensions, COUNT_OF(extensions)};
