// SPDX-License-Identifier: Apache-2.0
// The text `perf script` prints, read only. docs/formats/perf_script.md has what of it is understood.
#ifndef CODEC_PERF_SCRIPT_H
#define CODEC_PERF_SCRIPT_H

#include "codec/formats.h"

// The contracts are in codec/formats.h.
enum err_code perf_script_decode(struct bytes data, struct bytes original, const struct decode_options *options,
                                 struct batch **out, struct decode_report *report, struct err *e);
bool perf_script_recognise(struct bytes data);

// One line. All texts are borrowed from it.
struct perf_event {
    struct bytes comm, name; // name with its modifiers, without the colon at its end; len 0 = not told
    struct bytes rest; // behind the name: without a call chain the one frame stands there, or a tracepoint's fields
    bool has_pid, has_cpu, has_time, has_period;
    int64_t pid, tid, cpu;
    uint64_t time_nanos; // since boot, mostly
    int64_t period;
};

// "comm [pid/]tid [cpu] seconds: period event:". With time_needed only lines that tell the time are taken, which no
// frame looks like.
bool perf_parse_event(struct bytes line, bool time_needed, struct perf_event *out);

struct perf_frame {
    uint64_t address;
    struct bytes symbol; // without offset; len 0 = unknown
    struct bytes module; // len 0 = unknown
    bool is_inlined;
};

// "address symbol+0xoffset (module)"; false if it does not begin with an address.
bool perf_parse_frame(struct bytes line, struct perf_frame *out);
// "file:line" behind a frame. Of "??:0" and "module[address]", which say nothing, the file is empty.
bool perf_parse_source(struct bytes line, struct bytes *file_out, int64_t *line_out);

#endif
