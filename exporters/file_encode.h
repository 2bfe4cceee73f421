// SPDX-License-Identifier: Apache-2.0
// From a batch to the records that the file exporter writes: messages behind each other, lines, or whole files.
#ifndef EXPORTERS_FILE_ENCODE_H
#define EXPORTERS_FILE_ENCODE_H

#include "base/log.h"
#include "codec/formats.h"
#include "exporters/worker_compressors.h"
#include "pipeline/record.h"

enum file_shape {
    SHAPE_MESSAGES, // one file, each message behind its length (FILE_PREFIX_BYTES)
    SHAPE_LINES,    // one file, a line for each message
    SHAPE_FOLDER,   // a folder with a file for each profile
};

struct file_encoder {
    const struct format *format; // otlp_proto, otlp_json, pprof or folded
    enum file_shape shape;
    enum compression compression; // of each message or file; lines have none
    const struct logger *log;
    struct worker_compressors compressors;
};

void file_encoder_fini(struct file_encoder *x); // also of a zeroed one

// Worker thread. A record of SHAPE_FOLDER is the file's name and content: see file_record_split.
enum err_code file_encode(struct file_encoder *x, const struct batch *batch, struct record_list *out,
                          struct err *e) MUST_USE;
enum { FILE_NAME_BYTES = UINT8_MAX + 1 }; // terminated
void file_record_split(struct bytes record, char name_out[FILE_NAME_BYTES], struct bytes *content_out);

#endif
