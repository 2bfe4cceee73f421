// SPDX-License-Identifier: Apache-2.0
#include "receivers/grpc_descriptors.h"

#include "base/check.h"
#include "codec/wire.h"

enum { SET_FILE = 1, NAME = 1, FILE_PACKAGE = 2, FILE_DEPENDENCY = 3, FILE_SERVICE = 6 };

// What of a descriptor has names in it: the kind, the field's number, the kind of what lies there.
enum kind { KIND_FILE, KIND_MESSAGE, KIND_ENUM, KIND_SERVICE, KIND_LEAF };

static const struct {
    enum kind of;
    uint32_t number;
    enum kind is;
} members[] = {
    {KIND_FILE, 4, KIND_MESSAGE},    {KIND_FILE, 5, KIND_ENUM},    {KIND_FILE, FILE_SERVICE, KIND_SERVICE},
    {KIND_MESSAGE, 2, KIND_LEAF},    {KIND_MESSAGE, 8, KIND_LEAF}, // fields, oneofs
    {KIND_MESSAGE, 3, KIND_MESSAGE}, {KIND_MESSAGE, 4, KIND_ENUM}, // nested
    {KIND_ENUM, 2, KIND_LEAF},       {KIND_SERVICE, 2, KIND_LEAF},
};

void grpc_files_init(struct grpc_files *files)
{
    struct wire_reader r;
    struct wire_field f;
    *files = (struct grpc_files){.count = 0};
    wire_reader_init(&r, grpc_descriptors);
    while (wire_next(&r, &f)) {
        CHECK(f.number == SET_FILE && f.type == WIRE_LEN && files->count < GRPC_FILES_MAX);
        files->items[files->count++] =
            (struct grpc_file){f.bytes, wire_find(f.bytes, NAME), wire_find(f.bytes, FILE_PACKAGE)};
    }
    CHECK(r.error == NULL);
}

const struct grpc_file *grpc_files_by_name(const struct grpc_files *files, struct bytes name)
{
    for (size_t i = 0; i < files->count; i++)
        if (bytes_equal(files->items[i].name, name))
            return &files->items[i];
    return NULL;
}

// What follows "name." in text; false if text does not begin so.
static bool behind_name(struct bytes text, struct bytes name, struct bytes *rest_out)
{
    if (text.len <= name.len || memcmp(text.data, name.data, name.len) != 0 || text.data[name.len] != '.')
        return false;
    *rest_out = (struct bytes){text.data + name.len + 1, text.len - name.len - 1};
    return true;
}

static enum kind kind_of_member(enum kind of, const struct wire_field *f)
{
    for (size_t i = 0; f->type == WIRE_LEN && i < COUNT_OF(members); i++)
        if (members[i].of == of && members[i].number == f->number)
            return members[i].is;
    return KIND_FILE; // none
}

// The kind of what has this name in a descriptor; KIND_FILE = nothing has. As deep as our own files nest.
static enum kind find_in(struct bytes descriptor, enum kind of, struct bytes name)
{
    struct wire_reader r;
    struct wire_field f;
    enum kind found = KIND_FILE;
    wire_reader_init(&r, descriptor);
    while (found == KIND_FILE && wire_next(&r, &f)) {
        enum kind is = kind_of_member(of, &f);
        struct bytes own, rest;
        if (is == KIND_FILE)
            continue;
        own = wire_find(f.bytes, NAME);
        if (bytes_equal(own, name))
            found = is;
        else if (is == KIND_ENUM) // its values are named as if they stood beside it
            found = find_in(f.bytes, is, name);
        else if (is != KIND_LEAF && behind_name(name, own, &rest))
            found = find_in(f.bytes, is, rest);
    }
    return found;
}

const struct grpc_file *grpc_files_by_symbol(const struct grpc_files *files, struct bytes symbol, bool *is_message_out)
{
    *is_message_out = false;
    for (size_t i = 0; i < files->count; i++) {
        struct bytes rest;
        if (!behind_name(symbol, files->items[i].package, &rest))
            continue;
        enum kind found = find_in(files->items[i].descriptor, KIND_FILE, rest);
        *is_message_out = found == KIND_MESSAGE;
        if (found != KIND_FILE)
            return &files->items[i];
    }
    return NULL;
}

void grpc_files_needed(const struct grpc_files *files, const struct grpc_file *file, bool needed_out[GRPC_FILES_MAX])
{
    size_t at = (size_t)(file - files->items);
    memset(needed_out, 0, GRPC_FILES_MAX * sizeof *needed_out);
    needed_out[at] = true;
    for (size_t i = at + 1; i-- > 0;) {
        struct wire_reader r;
        struct wire_field f;
        wire_reader_init(&r, needed_out[i] ? files->items[i].descriptor : (struct bytes){NULL, 0});
        while (wire_next(&r, &f)) {
            const struct grpc_file *imported = f.number == FILE_DEPENDENCY ? grpc_files_by_name(files, f.bytes) : NULL;
            if (imported != NULL)
                needed_out[imported - files->items] = true;
        }
    }
}

static void each_service_of(const struct grpc_file *file, void (*on_service)(void *arg, struct bytes name), void *arg)
{
    struct wire_reader r;
    struct wire_field f;
    struct buf name;
    buf_init(&name, SIZE_MAX);
    wire_reader_init(&r, file->descriptor);
    while (wire_next(&r, &f)) {
        if (f.number != FILE_SERVICE)
            continue;
        struct bytes own = wire_find(f.bytes, NAME);
        buf_clear(&name);
        buf_add_format(&name, "%.*s.%.*s", BYTES_PRINT(file->package), BYTES_PRINT(own));
        on_service(arg, buf_bytes(&name));
    }
    buf_fini(&name);
}

void grpc_files_each_service(const struct grpc_files *files, void (*on_service)(void *arg, struct bytes name),
                             void *arg)
{
    for (size_t i = 0; i < files->count; i++)
        each_service_of(&files->items[i], on_service, arg);
}
