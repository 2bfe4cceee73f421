// SPDX-License-Identifier: Apache-2.0
// The configuration behind `profrelay import`: what the command line and OpenTelemetry's variables say, as YAML.
#ifndef PIPELINE_IMPORT_CONFIG_H
#define PIPELINE_IMPORT_CONFIG_H

#include "base/buf.h"
#include "base/err.h"
#include "pipeline/profile_input.h"

struct import_options {
    struct input_options input; // first: see INPUT_OPTIONS
    struct option_values to, service, attributes, match, headers, header_files, timestamp, retry_for, compression,
        format, dry_run, quiet;
};

const char *import_file_format(size_t i); // the i-th format of the files in a folder, NULL behind the last

// Writes to yaml. Values are taken as they are: no ${...}. Of names given twice the last value counts; the
// environment counts least. Reads the header files. ERR_INVALID says what the user must mend, without values.
enum err_code import_config_write(const struct import_options *o, char *const *paths, int path_count, struct buf *yaml,
                                  struct err *e) MUST_USE;

#endif
