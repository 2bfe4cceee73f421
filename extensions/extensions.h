// SPDX-License-Identifier: Apache-2.0
// All extensions that a configuration can name. The metrics page is not among them: the service starts it
// from service.telemetry.
#ifndef EXTENSIONS_EXTENSIONS_H
#define EXTENSIONS_EXTENSIONS_H

#include "extensions/extension.h"

extern const struct extension_module basicauth_extension, bearertokenauth_extension, headers_setter_extension,
    file_storage_extension, health_check_extension, metrics_page_extension;

extern const struct module_table extensions_table;

#endif
