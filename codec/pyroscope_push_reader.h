// SPDX-License-Identifier: Apache-2.0
// What the pyroscope_push*.c files share: the fields of push.v1 and types.v1 that are of use here.
#ifndef CODEC_PYROSCOPE_PUSH_READER_H
#define CODEC_PYROSCOPE_PUSH_READER_H

#include "base/buf.h"
#include "base/err.h"

enum { PUSH_REQUEST_SERIES = 1 };
enum { PUSH_SERIES_LABELS = 1, PUSH_SERIES_SAMPLES = 2 };
enum { PUSH_LABEL_NAME = 1, PUSH_LABEL_VALUE = 2 };
enum { PUSH_SAMPLE_RAW_PROFILE = 1, PUSH_SAMPLE_ID = 2 };

// A PushRequest in protobuf's JSON as protobuf, without what is not read. ERR_INVALID with line and column, ERR_MEMORY.
enum err_code pyroscope_push_from_json(struct bytes json, struct buf *out, struct err *e) MUST_USE;

#endif
