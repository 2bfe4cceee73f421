# SPDX-License-Identifier: Apache-2.0
"""What the linter holds the tree to. All data, no code: edit here when the design changes."""

# Headers of pipeline/ that modules may include: the contracts, not the machinery behind them.
PIPELINE_CONTRACT = [
    "pipeline/attributes.h",
    "pipeline/authentication.h",
    "pipeline/budget.h",
    "pipeline/claim.h",
    "pipeline/component.h",
    "pipeline/consumer.h",
    "pipeline/health.h",
    "pipeline/loop.h",
    "pipeline/queue.h",
    "pipeline/record.h",
    "pipeline/retry.h",
    "pipeline/storage.h",
    "pipeline/worker.h",
]
# What pipeline/ may know of the families of modules.
FAMILY_CONTRACTS = [
    "receivers/receiver.h",
    "processors/processor.h",
    "exporters/exporter.h",
    "extensions/extension.h",
]
FAMILY_TABLES = [
    "receivers/receivers.h",
    "processors/processors.h",
    "exporters/exporters.h",
    "extensions/extensions.h",
]

# Folder -> what its files may include: a folder ("base/") or one header. Its own folder is always allowed.
LAYERS = {
    "base": [],
    "profile": ["base/"],
    "config": ["base/"],
    "net": ["base/"],
    "codec": ["base/", "profile/"],
    "view": ["base/", "profile/"],
    "kube": ["base/", "config/", "codec/json.h", "net/"] + PIPELINE_CONTRACT,
    "detect": ["base/", "config/", "profile/value.h", "codec/json.h", "codec/text_lines.h", "net/"] + PIPELINE_CONTRACT,
    "pipeline": ["base/", "config/", "profile/"] + FAMILY_CONTRACTS,
    "processors": ["base/", "config/", "profile/", "kube/", "detect/"] + PIPELINE_CONTRACT,
    "receivers": ["base/", "config/", "profile/", "codec/", "net/"] + PIPELINE_CONTRACT,
    "exporters": ["base/", "config/", "profile/", "codec/", "net/"] + PIPELINE_CONTRACT,
    "extensions": ["base/", "config/", "profile/", "codec/", "net/"] + PIPELINE_CONTRACT,
}
# Single files that may include more than their folder, and why.
LAYER_EXCEPTIONS = {
    "pipeline/main.c": FAMILY_TABLES,  # hands the tables of modules to the graph; nobody else names them
    # Runs the engine with a receiver of its own, which is in no table.
    "pipeline/main_import.c": ["exporters/exporters.h", "receivers/import.h", "receivers/import_summary.h",
                               "receivers/path_attributes.h"],
    # The commands for files read and write every format and show what is in them, without the engine.
    "pipeline/profile_input.h": ["codec/formats.h"],
    "pipeline/main_convert.c": ["codec/", "view/sample_types.h"],
    "pipeline/main_view.h": ["view/call_tree.h"],
    "pipeline/main_view.c": ["view/sample_types.h"],
    "pipeline/main_view_show.c": ["view/"],
    "extensions/health_check.c": ["receivers/server_settings.h"],  # a server's TLS keys are the same everywhere
}
# Folder -> folders its library may be linked with (USES in its CMakeLists.txt). Modules are linked with pipeline for the
# functions behind the contract headers; LAYERS keeps them to these headers.
LINKS = {
    "base": [],
    "profile": ["base"],
    "config": ["base"],
    "net": ["base"],
    "codec": ["base", "profile"],
    "view": ["base", "profile"],
    "kube": ["base", "config", "profile", "codec", "net", "pipeline"],
    "detect": ["base", "config", "profile", "codec", "net", "pipeline"],
    "pipeline": ["base", "config", "profile"],
    "processors": ["base", "config", "profile", "kube", "detect", "pipeline"],
    "receivers": ["base", "config", "profile", "codec", "net", "pipeline"],
    "exporters": ["base", "config", "profile", "codec", "net", "pipeline"],
    "extensions": ["base", "config", "profile", "codec", "net", "pipeline", "receivers"],
}
PRODUCT = list(LAYERS)

MAX_FUNCTION_LINES = 100
MAX_MEDIAN_FUNCTION_LINES = 12
MAX_FILE_LINES = 900

# Call -> what to write instead.
BANNED_CALLS = {
    "alloca": "mem_try_alloc (memory sized by input must be able to fail)",
    "asctime": "strftime",
    "atof": "strtod",
    "atoi": "int64_parse",
    "atol": "int64_parse",
    "gets": "fgets",
    "localtime": "localtime_r",
    "popen": "nothing: profrelay starts no programs",
    "rand": "hash_* with a seed, or getrandom",
    "sprintf": "snprintf or buf_add_format",
    "strcat": "buf_add_text",
    "strcpy": "mem_copy_text or buf_add_text",
    "strncat": "buf_add_text",
    "strncpy": "memcpy of a checked length",
    "strtok": "struct bytes and memchr",
    "system": "nothing: profrelay starts no programs",
    "vsprintf": "vsnprintf",
    "pthread_cancel": "ask the thread to end, then join it",
}
# In product code only; tests may use them.
BANNED_PRODUCT_CALLS = {
    "assert": "CHECK (always on) for what cannot happen, struct err for input",
    "calloc": "MEM_NEW or mem_try_array",
    "malloc": "MEM_NEW or mem_try_alloc",
    "realloc": "mem_try_realloc or mem_try_grow",
    "strdup": "mem_copy_text",
    "sleep": "a timer of the loop",
    "usleep": "a timer of the loop",
    "nanosleep": "a timer of the loop",
}
# In tests/unit only.
BANNED_UNIT_CALLS = {
    "sleep": "an injected clock or a completion signal",
    "usleep": "an injected clock or a completion signal",
    "nanosleep": "an injected clock or a completion signal",
}
# (file, call): where a banned call is the point of the file.
CALL_EXCEPTIONS = {
    ("base/mem.c", "malloc"),
    ("base/mem.c", "calloc"),
    ("base/mem.c", "realloc"),
}
# (file, name): variables with state that are allowed, and why.
STATE_EXCEPTIONS = {
    ("base/hash.c", "seed"),  # drawn once per process, never changed after
    ("base/hash.c", "seed_once"),
    ("base/mem.c", "fail_from"),  # the tests' failing allocator, per thread, off in production
    ("base/mem.c", "calls"),
    ("pipeline/worker.c", "current_index"),  # which worker this thread is, per thread
}
