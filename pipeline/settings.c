// SPDX-License-Identifier: Apache-2.0
#include "pipeline/settings.h"

#include "base/clock.h"

#define SECONDS(n) ((double)(n) * (double)NANOS_PER_SECOND)
#define ONE_DAY SECONDS(86400)

const struct field receiver_common_fields[] = {
    {.name = "resource_attributes",
     .type = FIELD_ATTRIBUTES,
     .offset = offsetof(struct receiver_settings, resource_attributes),
     .help = "attributes put on every resource that comes in, e.g. service.name"},
    {.name = NULL},
};

static const char *const sizer_names[] = {
    [QUEUE_REQUESTS] = "requests", [QUEUE_ITEMS] = "items", [QUEUE_BYTES] = "bytes", NULL};
static const char *const on_full_names[] = {
    [QUEUE_REFUSE] = "refuse", [QUEUE_DROP_NEW] = "drop_new", [QUEUE_DROP_OLDEST] = "drop_oldest", NULL};

#define QUEUE(member) offsetof(struct exporter_settings, queue.member)
#define RETRY(member) offsetof(struct exporter_settings, retry.member)

static const struct field queue_fields[] = {
    {.name = "enabled",
     .type = FIELD_BOOL,
     .offset = QUEUE(enabled),
     .default_text = "true",
     .help = "false: a request counts as held only once the peer has it"},
    {.name = "num_consumers",
     .type = FIELD_INT,
     .offset = QUEUE(num_consumers),
     .default_text = "10",
     .min = 1,
     .max = 1000,
     .unit = "requests",
     .help = "requests sent or retried at the same time"},
    {.name = "queue_size",
     .type = FIELD_INT,
     .offset = QUEUE(queue_size),
     .default_text = "1000",
     .min = 1,
     .max = 1e15,
     .unit = "as sizer says",
     .help = "what the queue holds at most; service.memory_limit bounds it too"},
    {.name = "sizer",
     .type = FIELD_ENUM,
     .offset = QUEUE(sizer),
     .default_text = "requests",
     .names = sizer_names,
     .help = "unit of queue_size; items are samples"},
    {.name = "on_full",
     .type = FIELD_ENUM,
     .offset = QUEUE(on_full),
     .default_text = "refuse",
     .names = on_full_names,
     .help = "refuse: the sender is asked to come again; the others drop and count"},
    {.name = "storage",
     .type = FIELD_STRING,
     .offset = offsetof(struct exporter_settings, queue_storage),
     .help = "not available yet: queues live in memory"},
    {.name = "block_on_overflow", .type = FIELD_IGNORED, .help = "on_full says what a full queue does"},
    {.name = "wait_for_result", .type = FIELD_IGNORED, .help = "set enabled: false for this"},
    {.name = "batch", .type = FIELD_IGNORED, .help = "requests are not joined yet"},
    {.name = NULL},
};

static const struct field retry_fields[] = {
    {.name = "enabled",
     .type = FIELD_BOOL,
     .offset = RETRY(enabled),
     .default_text = "true",
     .help = "repeat attempts that failed for a reason that may pass"},
    {.name = "initial_interval",
     .type = FIELD_DURATION,
     .offset = RETRY(initial_interval_nanos),
     .default_text = "5s",
     .min = (double)NANOS_PER_MS,
     .max = ONE_DAY,
     .help = "wait after the first failure"},
    {.name = "randomization_factor",
     .type = FIELD_DOUBLE,
     .offset = RETRY(randomization_factor),
     .default_text = "0.5",
     .min = 0,
     .max = 1,
     .help = "spread of each wait around its interval"},
    {.name = "multiplier",
     .type = FIELD_DOUBLE,
     .offset = RETRY(multiplier),
     .default_text = "1.5",
     .min = 1,
     .max = 100,
     .help = "growth of the interval"},
    {.name = "max_interval",
     .type = FIELD_DURATION,
     .offset = RETRY(max_interval_nanos),
     .default_text = "30s",
     .min = (double)NANOS_PER_MS,
     .max = ONE_DAY,
     .help = "the interval grows no further"},
    {.name = "max_elapsed_time",
     .type = FIELD_DURATION,
     .offset = RETRY(max_elapsed_nanos),
     .default_text = "5m",
     .min = 0,
     .max = 365 * ONE_DAY,
     .help = "give up after this time; 0 = never"},
    {.name = NULL},
};

const struct field exporter_common_fields[] = {
    {.name = "sending_queue", .type = FIELD_STRUCT, .fields = queue_fields, .help = "the queue in front of the peer"},
    {.name = "retry_on_failure", .type = FIELD_STRUCT, .fields = retry_fields, .help = "back-off between attempts"},
    {.name = NULL},
};

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error", [LOG_OFF] = "off", NULL};
static const char *const encoding_names[] = {[LOG_CONSOLE] = "console", [LOG_JSON] = "json", NULL};
static const char *const metrics_level_names[] = {[METRICS_NONE] = "none",
                                                  [METRICS_BASIC] = "basic",
                                                  [METRICS_NORMAL] = "normal",
                                                  [METRICS_DETAILED] = "detailed",
                                                  NULL};

#define SERVICE(member) offsetof(struct service_settings, member)

static const struct field log_fields[] = {
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SERVICE(logs.level),
     .default_text = "info",
     .names = level_names,
     .help = "what is logged"},
    {.name = "encoding",
     .type = FIELD_ENUM,
     .offset = SERVICE(logs.encoding),
     .default_text = "console",
     .names = encoding_names,
     .help = "for people or for machines"},
    {.name = "output_paths", .type = FIELD_IGNORED, .help = "logs go to stderr"},
    {.name = "error_output_paths", .type = FIELD_IGNORED, .help = "logs go to stderr"},
    {.name = "development", .type = FIELD_IGNORED, .help = "no meaning here"},
    {.name = "sampling", .type = FIELD_IGNORED, .help = "repeated lines are always limited"},
    {.name = "disable_caller", .type = FIELD_IGNORED, .help = "no caller is logged"},
    {.name = "disable_stacktrace", .type = FIELD_IGNORED, .help = "no stack is logged"},
    {.name = "initial_fields", .type = FIELD_IGNORED, .help = "not logged"},
    {.name = "processors", .type = FIELD_IGNORED, .help = "logs go to stderr only"},
    {.name = NULL},
};

#define PROMETHEUS(member) offsetof(struct reader_settings, pull.exporter.prometheus.member)

static const struct field prometheus_fields[] = {
    {.name = "host",
     .type = FIELD_STRING,
     .offset = PROMETHEUS(host),
     .default_text = "localhost",
     .help = "address to listen on"},
    {.name = "port",
     .type = FIELD_INT,
     .offset = PROMETHEUS(port),
     .default_text = "8888",
     .min = 0,
     .max = 65535,
     .help = "port to listen on; 0 = any free one"},
    {.name = "without_scope_info", .type = FIELD_IGNORED, .help = "there is none"},
    {.name = "without_type_suffix", .type = FIELD_IGNORED, .help = "there is none"},
    {.name = "without_units", .type = FIELD_IGNORED, .help = "there are none"},
    {.name = "with_resource_constant_labels", .type = FIELD_IGNORED, .help = "there are none"},
    {.name = NULL},
};

static const struct field reader_exporter_fields[] = {
    {.name = "prometheus",
     .type = FIELD_STRUCT,
     .fields = prometheus_fields,
     .present_offset = 1 + PROMETHEUS(present),
     .help = "the page /metrics"},
    {.name = NULL},
};

static const struct field pull_fields[] = {
    {.name = "exporter", .type = FIELD_STRUCT, .fields = reader_exporter_fields, .help = "how it is read"},
    {.name = NULL},
};

static const struct field reader_fields[] = {
    {.name = "pull", .type = FIELD_STRUCT, .fields = pull_fields, .help = "somebody fetches the metrics"},
    {.name = "periodic", .type = FIELD_IGNORED, .help = "metrics are not pushed"},
    {.name = NULL},
};

static const struct field metrics_fields[] = {
    {.name = "level",
     .type = FIELD_ENUM,
     .offset = SERVICE(metrics_level),
     .default_text = "normal",
     .names = metrics_level_names,
     .help = "none: no metrics page"},
    {.name = "address",
     .type = FIELD_STRING,
     .offset = SERVICE(metrics_address),
     .help = "old spelling of readers: host:port of the page"},
    {.name = "readers",
     .type = FIELD_STRUCT_LIST,
     .offset = SERVICE(metrics_readers),
     .fields = reader_fields,
     .struct_size = sizeof(struct reader_settings),
     .help = "the first pull reader with prometheus is used"},
    {.name = "views", .type = FIELD_IGNORED, .help = "every metric is shown"},
    {.name = NULL},
};

static const struct field telemetry_fields[] = {
    {.name = "logs", .type = FIELD_STRUCT, .fields = log_fields, .help = "logs of the program itself, on stderr"},
    {.name = "metrics", .type = FIELD_STRUCT, .fields = metrics_fields, .help = "metrics of the program itself"},
    {.name = "traces", .type = FIELD_IGNORED, .help = "the program makes no traces"},
    {.name = "resource", .type = FIELD_IGNORED, .help = "metrics carry no resource"},
    {.name = NULL},
};

const struct field service_fields[] = {
    {.name = "extensions",
     .type = FIELD_STRING_LIST,
     .offset = SERVICE(extensions),
     .help = "ids of the extensions to start"},
    {.name = "memory_limit",
     .type = FIELD_SIZE,
     .offset = SERVICE(memory_limit),
     .min = 0,
     .max = 1e15,
     .help = "what files, batches and requests may take together; default: 3/4 of the cgroup's limit or 1/2 of the "
             "machine's memory"},
    {.name = "shutdown_timeout",
     .type = FIELD_DURATION,
     .offset = SERVICE(shutdown_timeout_nanos),
     .default_text = "20s",
     .min = 0,
     .max = ONE_DAY,
     .help = "time to send what is queued after SIGTERM"},
    {.name = "workers",
     .type = FIELD_INT,
     .offset = SERVICE(workers),
     .default_text = "0",
     .min = 0,
     .max = 256,
     .unit = "threads",
     .help = "threads that decode and encode; 0 = one per CPU"},
    {.name = "loops",
     .type = FIELD_INT,
     .offset = SERVICE(loops),
     .default_text = "1",
     .min = 1,
     .max = 64,
     .unit = "threads",
     .help = "threads that do network I/O"},
    {.name = "telemetry", .type = FIELD_STRUCT, .fields = telemetry_fields, .help = "logs and metrics"},
    {.name = NULL},
};
