// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/extensions/auth_fixture.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static int64_t read_clock(const struct clock *c)
{
    return CONTAINER_OF(c, const struct auth_rig, clock)->now_nanos;
}

void auth_rig_init(struct auth_rig *r)
{
    *r = (struct auth_rig){.clock = {read_clock, read_clock}, .now_nanos = 1000 * NANOS_PER_SECOND};
    test_folder_init(&r->folder);
    fake_env_init(&r->env, 1);
    r->env.env.clock = &r->clock;
}

static char *with_folder(const struct auth_rig *r, const char *yaml)
{
    struct buf text;
    buf_init(&text, 1 << 20);
    for (const char *c = yaml; *c != '\0'; c++)
        if (*c == '@')
            buf_add_text(&text, r->folder.path);
        else
            buf_add_byte(&text, (uint8_t)*c);
    buf_add_byte(&text, '\0');
    return (char *)text.data;
}

void auth_rig_start(struct auth_rig *r, const struct extension_module *m, const char *yaml)
{
    struct err e = {0};
    char *text = with_folder(r, yaml);
    fake_component_init(&r->component, &r->env, KIND_EXTENSION, &m->module, text);
    free(text);
    if (fake_component_start(&r->component, &e) != ERR_OK)
        fputs(e.text, stderr);
    CHECK(e.code == ERR_OK);
    r->authenticator = m->authenticator((struct extension *)r->component.instance.component);
}

void auth_rig_fini(struct auth_rig *r)
{
    if (r->authenticator != NULL)
        fake_component_fini(&r->component);
    fake_env_fini(&r->env);
    test_folder_fini(&r->folder);
}

void auth_rig_write(struct auth_rig *r, const char *name, const char *text)
{
    char path[256], hidden[256];
    test_folder_write(&r->folder, "new", bytes_from_text(text));
    CHECK(rename(test_folder_path(&r->folder, "new", hidden), test_folder_path(&r->folder, name, path)) == 0);
}

void auth_rig_later(struct auth_rig *r)
{
    r->now_nanos += NANOS_PER_SECOND;
}

char *auth_rig_messages(struct auth_rig *r, const struct extension_module *m, const char *yaml)
{
    void *settings;
    char *text = with_folder(r, yaml);
    char *messages = fake_settings(&r->env, KIND_EXTENSION, &m->module, text, &settings);
    free(text);
    return messages;
}

static size_t to_list(const char *const *headers, struct http_header out[16])
{
    size_t count = 0;
    for (; headers[0] != NULL; headers += 2)
        out[count++] = (struct http_header){headers[0], headers[1]};
    return count;
}

enum auth_result auth_rig_check(struct auth_rig *r, const char *const *headers, struct auth_answer *out)
{
    struct http_header list[16];
    size_t count = to_list(headers, list);
    enum auth_result result = r->authenticator->ops->check(r->authenticator, list, count, out);
    return result != AUTH_SLOW ? result : r->authenticator->ops->verify(r->authenticator, out->attempt, out);
}

char *auth_rig_apply(struct auth_rig *r, const char *const *headers, const char *const *values, const char *name)
{
    struct http_header list[16];
    struct header_set set;
    char *found = NULL;
    header_set_init(&set, list, to_list(headers, list));
    r->authenticator->ops->apply(r->authenticator, values, &set);
    for (size_t i = 0; i < set.count; i++) {
        if (strcasecmp(set.items[i].name, name) != 0)
            continue;
        CHECK(found == NULL);
        found = mem_copy_text(set.items[i].value);
    }
    header_set_fini(&set);
    return found;
}
