// SPDX-License-Identifier: Apache-2.0
// All processors there are.
#ifndef PROCESSORS_PROCESSORS_H
#define PROCESSORS_PROCESSORS_H

#include "processors/processor.h"

extern const struct processor_module aggregate_processor;
extern const struct processor_module attributes_processor;
extern const struct processor_module batch_processor;
extern const struct processor_module filter_processor;
extern const struct processor_module groupbyattrs_processor;
extern const struct processor_module k8s_attributes_processor;
extern const struct processor_module memory_limiter_processor;
extern const struct processor_module probabilistic_sampler_processor;
extern const struct processor_module rate_limit_processor;
extern const struct processor_module redaction_processor;
extern const struct processor_module relabel_processor;
extern const struct processor_module resource_processor;
extern const struct processor_module resource_detection_processor;
extern const struct processor_module service_name_processor;

extern const struct module_table processors_table;

#endif
