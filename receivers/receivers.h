// SPDX-License-Identifier: Apache-2.0
// All receivers that a configuration can name; that of `profrelay import` is not among them.
#ifndef RECEIVERS_RECEIVERS_H
#define RECEIVERS_RECEIVERS_H

#include "receivers/receiver.h"

extern const struct receiver_module folded_receiver, otlp_receiver, pprof_receiver, pyroscope_receiver;

extern const struct module_table receivers_table;

#endif
