// SPDX-License-Identifier: Apache-2.0
#include "processors/processors.h"

// clang-format off: one a line
static const struct module *const processors[] = {
    &aggregate_processor.module,
    &attributes_processor.module,
    &batch_processor.module,
    &filter_processor.module,
    &groupbyattrs_processor.module,
    &k8s_attributes_processor.module,
    &memory_limiter_processor.module,
    &probabilistic_sampler_processor.module,
    &rate_limit_processor.module,
    &redaction_processor.module,
    &relabel_processor.module,
    &resource_processor.module,
    &resource_detection_processor.module,
    &service_name_processor.module,
};
// clang-format on

const struct module_table processors_table = {processors, COUNT_OF(processors)};
