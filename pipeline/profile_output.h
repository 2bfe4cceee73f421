// SPDX-License-Identifier: Apache-2.0
// How commands write their results: a file is there whole or as it was before.
#ifndef PIPELINE_PROFILE_OUTPUT_H
#define PIPELINE_PROFILE_OUTPUT_H

#include "base/bytes.h"
#include "base/err.h"

// path "-" = standard output. What is not a file (a pipe, a device) is written to directly. A terminal gets only text
// that cannot steer it: anything else is ERR_UNSUPPORTED. Errors name the path.
enum err_code output_write(const char *path, struct bytes content, struct err *e) MUST_USE;

#endif
