// SPDX-License-Identifier: Apache-2.0
// The services of our gRPC ports as their .proto files describe them. The walk is over our own bytes, put into the
// program at build time.
#ifndef RECEIVERS_GRPC_DESCRIPTORS_H
#define RECEIVERS_GRPC_DESCRIPTORS_H

#include "base/buf.h"

// google.protobuf.FileDescriptorSet: who is imported stands before who imports.
extern const struct bytes grpc_descriptors;

enum { GRPC_FILES_MAX = 32 };

struct grpc_file {
    struct bytes descriptor; // FileDescriptorProto
    struct bytes name, package;
};

struct grpc_files {
    struct grpc_file items[GRPC_FILES_MAX];
    size_t count;
};

void grpc_files_init(struct grpc_files *files); // in place, nothing to free
// NULL = none.
const struct grpc_file *grpc_files_by_name(const struct grpc_files *files, struct bytes name);
// By the full name of a service, method, message, field, oneof, enum or value of an enum.
const struct grpc_file *grpc_files_by_symbol(const struct grpc_files *files, struct bytes symbol, bool *is_message_out);
// Those that a file imports, and they, and so on; itself too. By index.
void grpc_files_needed(const struct grpc_files *files, const struct grpc_file *file, bool needed_out[GRPC_FILES_MAX]);
// "package.Service" of each service.
void grpc_files_each_service(const struct grpc_files *files, void (*on_service)(void *arg, struct bytes name),
                             void *arg);

#endif
