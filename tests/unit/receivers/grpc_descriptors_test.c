// SPDX-License-Identifier: Apache-2.0
// What protoc has made of proto/; python's protobuf and grpcurl are the judges in tests/e2e and tests/interop.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receivers/grpc_descriptors.h"

#include <stdio.h>

static const struct grpc_file *by_symbol(const struct grpc_files *files, const char *symbol, bool *is_message)
{
    return grpc_files_by_symbol(files, bytes_from_text(symbol), is_message);
}

static void finds_files(void **state)
{
    (void)state;
    struct grpc_files files;
    grpc_files_init(&files);
    static const char *const names[] = {
        "common.proto", "resource.proto",      "profiles.proto",          "collector_profiles.proto",
        "health.proto", "reflection_v1.proto", "reflection_v1alpha.proto"};
    assert_int_equal(files.count, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_non_null(grpc_files_by_name(&files, bytes_from_text(names[i])));
    assert_null(grpc_files_by_name(&files, bytes_from_text("common")));
    assert_null(grpc_files_by_name(&files, (struct bytes){NULL, 0}));
}

static void finds_symbols(void **state)
{
    (void)state;
    static const struct {
        const char *symbol, *file;
        bool is_message;
    } cases[] = {
        {"opentelemetry.proto.collector.profiles.v1development.ProfilesService", "collector_profiles.proto", false},
        {"opentelemetry.proto.collector.profiles.v1development.ProfilesService.Export", "collector_profiles.proto",
         false},
        {"opentelemetry.proto.profiles.v1development.Profile", "profiles.proto", true},
        {"opentelemetry.proto.profiles.v1development.Profile.samples", "profiles.proto", false},
        {"opentelemetry.proto.common.v1.AnyValue.value", "common.proto", false},
        {"opentelemetry.proto.resource.v1.Resource", "resource.proto", true},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus", "health.proto", false},
        {"grpc.health.v1.HealthCheckResponse.SERVICE_UNKNOWN", "health.proto", false},
        {"grpc.reflection.v1.ServerReflection", "reflection_v1.proto", false},
        {"grpc.reflection.v1alpha.ErrorResponse", "reflection_v1alpha.proto", true},
    };
    struct grpc_files files;
    bool is_message;
    grpc_files_init(&files);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct grpc_file *file = by_symbol(&files, cases[i].symbol, &is_message);
        assert_non_null(file);
        assert_true(bytes_equal_text(file->name, cases[i].file));
        assert_int_equal(is_message, cases[i].is_message);
    }
}

static void finds_nothing_else(void **state)
{
    (void)state;
    static const char *const symbols[] = {
        "",
        ".",
        "grpc",
        "grpc.health.v1",
        "grpc.health.v1.",
        "grpc.health.v1..",
        "grpc.health.v1.Healt",
        "grpc.health.v1.Healthy",
        "grpc.health.v1.Health.",
        "grpc.health.v1.Health.Check.",
        "grpc.health.v1.Health.Check.x",
        "grpc.health.v1.HealthCheckResponse.ServingStatus.SERVING",
        "HealthCheckResponse",
        "perftools.profiles.Profile",
        "opentelemetry.proto.profiles.v1development.ValueType.ValueType.ValueType.ValueType.ValueType",
    };
    struct grpc_files files;
    bool is_message = true;
    char dots[4096];
    grpc_files_init(&files);
    for (size_t i = 0; i < COUNT_OF(symbols); i++) {
        assert_null(by_symbol(&files, symbols[i], &is_message));
        assert_false(is_message);
    }
    memset(dots, '.', sizeof dots);
    memcpy(dots, "grpc.health.v1", 14);
    assert_null(grpc_files_by_symbol(&files, (struct bytes){(const uint8_t *)dots, sizeof dots}, &is_message));
}

static void knows_imports(void **state)
{
    (void)state;
    struct grpc_files files;
    bool needed[GRPC_FILES_MAX];
    size_t count = 0;
    grpc_files_init(&files);
    grpc_files_needed(&files, grpc_files_by_name(&files, bytes_from_text("collector_profiles.proto")), needed);
    for (size_t i = 0; i < GRPC_FILES_MAX; i++)
        count += needed[i];
    assert_int_equal(count, 4);
    grpc_files_needed(&files, grpc_files_by_name(&files, bytes_from_text("health.proto")), needed);
    count = 0;
    for (size_t i = 0; i < GRPC_FILES_MAX; i++)
        count += needed[i];
    assert_int_equal(count, 1);
}

static void add_line(void *arg, struct bytes name)
{
    buf_add_format(arg, "%.*s\n", BYTES_PRINT(name));
}

static void lists_services(void **state)
{
    (void)state;
    struct grpc_files files;
    struct buf list;
    grpc_files_init(&files);
    buf_init(&list, 4096);
    grpc_files_each_service(&files, add_line, &list);
    buf_add_byte(&list, '\0');
    assert_string_equal((const char *)list.data,
                        "opentelemetry.proto.collector.profiles.v1development.ProfilesService\n"
                        "grpc.health.v1.Health\n"
                        "grpc.reflection.v1.ServerReflection\n"
                        "grpc.reflection.v1alpha.ServerReflection\n");
    buf_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_files),   cmocka_unit_test(finds_symbols),  cmocka_unit_test(finds_nothing_else),
        cmocka_unit_test(knows_imports), cmocka_unit_test(lists_services),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
