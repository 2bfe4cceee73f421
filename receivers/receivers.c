// SPDX-License-Identifier: Apache-2.0
#include "receivers/receivers.h"

static const struct module *const receivers[] = {
    &folded_receiver.module,
    &otlp_receiver.module,
    &pprof_receiver.module,
    &pyroscope_receiver.module,
};

const struct module_table receivers_table = {receivers, COUNT_OF(receivers)};
