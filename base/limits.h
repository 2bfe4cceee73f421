// SPDX-License-Identifier: Apache-2.0
// Every fixed maximum of the program in one place. Configurable limits have their defaults here too.
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#include <stddef.h>

enum {
    LIMIT_CONFIG_BYTES = 4 << 20,   // one configuration source
    LIMIT_CONFIG_DEPTH = 64,        // nesting of YAML nodes
    LIMIT_CONFIG_NODES = 200000,    // nodes of one document, aliases counted each time
    LIMIT_CONFIG_EXPANSIONS = 1000, // ${...} rounds, as in the Collector
    LIMIT_LOG_LINE_BYTES = 16 << 10,
    LIMIT_METRICS_PAGE_BYTES = 8 << 20,
    LIMIT_HTTP_HEADER_BYTES = 64 << 10,  // all headers of one message, chunk extensions and trailers too
    LIMIT_HTTP_RESPONSE_BYTES = 4 << 20, // OTLP 1.11 recommends 4 MiB
    LIMIT_VALUE_DEPTH = 64,              // nesting of AnyValue, measured in arrays and kvlists
    LIMIT_PATH_BYTES = 4096,
    LIMIT_COMMAND_SAMPLES = 256000000, // of a file that convert, top ... read
};

#define LIMIT_COMMAND_BYTES ((size_t)4 << 30)        // of such a file, as it lies there and inflated
#define LIMIT_COMMAND_BATCH_BYTES ((size_t)16 << 30) // of its profiles in memory

#endif
