// SPDX-License-Identifier: Apache-2.0
// Small sets that survive restarts: a folder with one storage_log per component. A thread of its own writes,
// so that no loop waits for a disk; all changes that wait are made durable together.
#include "base/folder.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "extensions/extensions.h"
#include "extensions/storage_log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_NAME_MAX = 200 };

struct file_storage_settings {
    const char *directory;
    bool create_directory, fsync;
    const char *directory_permissions;
};

struct file_storage;

struct storage_client {
    struct storage_client *next;
    struct file_storage *owner;
    char *name;
    struct storage_log log;
    bool dirty; // of the writer: written to since the last sync
};

struct file_storage {
    struct extension extension;
    struct storage storage;
    const struct file_storage_settings *settings;
    int lock_fd;
    struct ring puts;
    pthread_t thread;
    bool running;
    struct storage_client *clients;
};

// A change on its way to the disk and back to its loop.
struct put {
    struct loop_task task; // first: its node is also that of the writer's ring
    struct storage_client *client;
    struct bytes key, value;
    uint8_t *data; // holds both; NULL = there was no memory
    struct loop *loop;
    void (*on_done)(void *arg, bool failed);
    void *arg;
    bool failed;
};

#define SETTING(member) offsetof(struct file_storage_settings, member)

static const struct field file_storage_fields[] = {
    {.name = "directory",
     .type = FIELD_STRING,
     .offset = SETTING(directory),
     .default_text = "/var/lib/profrelay",
     .help = "the folder; for one process at a time"},
    {.name = "create_directory",
     .type = FIELD_BOOL,
     .offset = SETTING(create_directory),
     .default_text = "false",
     .help = "create the folder if it is missing"},
    {.name = "directory_permissions",
     .type = FIELD_STRING,
     .offset = SETTING(directory_permissions),
     .default_text = "\"0750\"",
     .help = "of a folder that is created, in octal"},
    {.name = "fsync",
     .type = FIELD_BOOL,
     .offset = SETTING(fsync),
     .default_text = "true",
     .help = "a change counts once it is on the disk; false: it survives a crash of the program, not of the machine"},
    {.name = "timeout", .type = FIELD_IGNORED, .help = "the lock is had at once or not at all"},
    {.name = "compaction", .type = FIELD_IGNORED, .help = "files are made small when more than half is garbage"},
    {.name = "max_size", .type = FIELD_IGNORED, .help = "the disk is the bound"},
    {.name = "recreate", .type = FIELD_IGNORED, .help = "what is damaged is cut off, the rest is kept"},
    {.name = NULL},
};

static void check_settings(const void *settings, const struct component_check *check)
{
    const struct file_storage_settings *s = settings;
    if (s->directory == NULL || s->directory[0] == '\0')
        check_error(check, "directory", "must not be empty");
    if (folder_mode_parse(s->directory_permissions) == 0)
        check_error(check, "directory_permissions", "must be an octal mode such as \"0750\", found \"%s\"",
                    s->directory_permissions);
}

// --- the writer ---

static void write_put(struct put *p)
{
    struct err e = {0};
    struct storage_client *c = p->client;
    if (p->data == NULL)
        err_set(&e, ERR_MEMORY, "no memory for a change");
    else if (storage_log_append(&c->log, p->key, p->value, &e) == ERR_OK)
        c->dirty = true;
    p->failed = e.code != ERR_OK;
    if (p->failed)
        log_error(&c->owner->extension.component.log, "a change of %s is not stored: %s", c->name, e.text);
}

// One sync for all changes of a client; if it fails, all of them have failed.
static void sync_client(struct put *first, struct storage_client *c)
{
    struct err e = {0};
    c->dirty = false;
    if (storage_log_sync(&c->log, &e) == ERR_OK) {
        storage_log_review(&c->log);
        return;
    }
    log_error(&c->owner->extension.component.log, "changes of %s are not stored: %s", c->name, e.text);
    for (struct ring_node *n = &first->task.node; n != NULL; n = n->next)
        if (((struct put *)n)->client == c)
            ((struct put *)n)->failed = true;
}

static void run_done(struct loop_task *task)
{
    struct put *p = (struct put *)task;
    if (p->on_done != NULL)
        p->on_done(p->arg, p->failed);
    free(p->data);
    free(p);
}

// Clients are not touched after the answers are posted: their owners may close them.
static void write_batch(struct ring_node *first)
{
    for (struct ring_node *n = first; n != NULL; n = n->next)
        write_put((struct put *)n);
    for (struct ring_node *n = first; n != NULL; n = n->next)
        if (((struct put *)n)->client->dirty)
            sync_client((struct put *)first, ((struct put *)n)->client);
    for (struct ring_node *n = first, *next; n != NULL; n = next) {
        next = n->next;
        struct put *p = (struct put *)n;
        p->task.run = run_done;
        loop_post(p->loop, &p->task);
    }
}

static void *run_writer(void *arg)
{
    struct file_storage *s = arg;
    struct ring_node *first;
    while ((first = ring_take_wait(&s->puts)) != NULL) {
        first->next = ring_take_all(&s->puts);
        write_batch(first);
    }
    return NULL;
}

// Signals are for loop 0 only.
static void start_writer(struct file_storage *s)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    CHECK(pthread_create(&s->thread, NULL, run_writer, s) == 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    s->running = true;
}

// --- what components see ---

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

// A file name for any client name; different names never share one.
static void make_file_name(const char *client_name, char out[FILE_NAME_MAX + 32])
{
    size_t len = 0;
    for (const char *c = client_name; *c != '\0' && len < FILE_NAME_MAX; c++)
        len += (size_t)snprintf(out + len, 4, is_plain(*c) ? "%c" : "%%%02x", (unsigned char)*c);
    if (len >= FILE_NAME_MAX) {
        struct hash128 h = hash_content(client_name, strlen(client_name));
        len = FILE_NAME_MAX / 2 +
              (size_t)snprintf(out + FILE_NAME_MAX / 2, 34, "+%016" PRIx64 "%016" PRIx64, h.high, h.low);
    }
    memcpy(out + len, ".log", 5);
}

static bool is_open(const struct file_storage *s, const char *name)
{
    for (const struct storage_client *c = s->clients; c != NULL; c = c->next)
        if (strcmp(c->name, name) == 0)
            return true;
    return false;
}

static void free_client(struct storage_client *c)
{
    storage_log_close(&c->log);
    free(c->name);
    free(c);
}

static enum err_code open_client(struct storage *self, const char *client_name, storage_visit_fn *visit, void *arg,
                                 struct storage_client **out, struct err *e)
{
    struct file_storage *s = CONTAINER_OF(self, struct file_storage, storage);
    char name[FILE_NAME_MAX + 32], path[LIMIT_PATH_BYTES];
    make_file_name(client_name, name);
    int len = snprintf(path, sizeof path, "%s/%s", s->settings->directory, name);
    if (len < 0 || (size_t)len + sizeof ".tmp" > sizeof path)
        return err_set(e, ERR_INVALID, "the path of the directory %s is too long", s->settings->directory);
    if (is_open(s, client_name))
        return err_set(e, ERR_INVALID, "%s is open in %s already", client_name, s->settings->directory);
    struct storage_client *c = MEM_NEW(struct storage_client);
    c->owner = s;
    c->name = mem_copy_text(client_name);
    if (storage_log_open(&c->log, path, s->settings->fsync, &s->extension.component.log, visit, arg, e) != ERR_OK) {
        free_client(c);
        return e->code;
    }
    c->next = s->clients;
    s->clients = c;
    *out = c;
    return ERR_OK;
}

static void copy_pair(struct put *p, struct bytes key, struct bytes value)
{
    p->data = mem_try_alloc(key.len + value.len + 1);
    if (p->data == NULL)
        return;
    if (key.len != 0)
        memcpy(p->data, key.data, key.len);
    if (value.len != 0)
        memcpy(p->data + key.len, value.data, value.len);
    p->key = (struct bytes){p->data, key.len};
    p->value = (struct bytes){p->data + key.len, value.len};
}

static void put_pair(struct storage_client *client, struct bytes key, struct bytes value, struct loop *loop,
                     void (*on_done)(void *arg, bool failed), void *arg)
{
    struct put *p = MEM_NEW(struct put);
    *p = (struct put){.client = client, .loop = loop, .on_done = on_done, .arg = arg};
    copy_pair(p, key, value);
    ring_post(&client->owner->puts, &p->task.node);
}

static void close_client(struct storage_client **client)
{
    struct storage_client *c = *client;
    *client = NULL;
    struct storage_client **link = &c->owner->clients;
    while (*link != c)
        link = &(*link)->next;
    *link = c->next;
    free_client(c);
}

// --- life cycle ---

static enum err_code create(struct extension *self, const void *settings, struct err *e)
{
    (void)e;
    struct file_storage *s = (struct file_storage *)self;
    s->settings = settings;
    s->storage = (struct storage){open_client, put_pair, close_client};
    s->lock_fd = -1;
    ring_init(&s->puts, 0, 0, NULL, NULL);
    return ERR_OK;
}

static enum err_code fail_directory(const char *what, const char *path, struct err *e)
{
    return err_set(e, ERR_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum err_code check_directory(const struct file_storage_settings *s, struct err *e)
{
    struct stat st;
    if (stat(s->directory, &st) != 0) {
        if (errno == ENOENT)
            return err_set(e, ERR_IO,
                           "the directory %s does not exist; create it, or set create_directory: true for it to be "
                           "created",
                           s->directory);
        return fail_directory("use the directory", s->directory, e);
    }
    return S_ISDIR(st.st_mode) ? ERR_OK : err_set(e, ERR_IO, "directory: %s is not a directory", s->directory);
}

static enum err_code take_lock(struct file_storage *s, struct err *e)
{
    char path[LIMIT_PATH_BYTES];
    snprintf(path, sizeof path, "%s/lock", s->settings->directory);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
    if (s->lock_fd < 0)
        return fail_directory("open", path, e);
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) == 0)
        return ERR_OK;
    if (errno == EWOULDBLOCK)
        return err_set(e, ERR_UNAVAILABLE,
                       "the directory %s is in use by another process or another file_storage; give each its own",
                       s->settings->directory);
    return fail_directory("lock", path, e);
}

static enum err_code start(struct extension *self, struct err *e)
{
    struct file_storage *s = (struct file_storage *)self;
    enum err_code rc =
        s->settings->create_directory
            ? folder_create(s->settings->directory, folder_mode_parse(s->settings->directory_permissions), e)
            : ERR_OK;
    if (rc == ERR_OK)
        rc = check_directory(s->settings, e);
    if (rc == ERR_OK)
        rc = take_lock(s, e);
    if (rc == ERR_OK)
        start_writer(s);
    return rc;
}

// Everything that used it has stopped: nothing waits, so the thread ends at once.
static void stop(struct extension *self)
{
    struct file_storage *s = (struct file_storage *)self;
    ring_close(&s->puts);
    if (s->running)
        CHECK(pthread_join(s->thread, NULL) == 0);
    s->running = false;
    component_stopped(&self->component);
}

static void destroy(struct extension *self)
{
    struct file_storage *s = (struct file_storage *)self;
    CHECK(!s->running);
    for (struct storage_client *c = s->clients, *next; c != NULL; c = next) {
        next = c->next;
        free_client(c);
    }
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    ring_fini(&s->puts);
}

static struct storage *storage_of(struct extension *self)
{
    return &((struct file_storage *)self)->storage;
}

const struct extension_module file_storage_extension = {
    .module =
        {
            .type = "file_storage",
            .help = "Keeps what components must remember across restarts in a folder.",
            .settings_size = sizeof(struct file_storage_settings),
            .instance_size = sizeof(struct file_storage),
            .fields = file_storage_fields,
            .check = check_settings,
        },
    .create = create,
    .start = start,
    .stop = stop,
    .destroy = destroy,
    .storage = storage_of,
};
