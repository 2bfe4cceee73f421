// SPDX-License-Identifier: Apache-2.0
// Service accounts and kubeconfigs: what is taken from them, and what is said of those that are of no use.
#include "kube/kube_access.h"
#include "tests/support/test_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
    struct test_folder folder;
    struct kube_watch_settings settings;
    char path[256];
    struct kube_access access;
    struct err e;
};

static void init(struct fixture *f, enum kube_auth_type type)
{
    *f = (struct fixture){.settings.auth_type = type};
    test_folder_init(&f->folder);
    f->settings.service_account_folder = f->folder.path;
    f->settings.kubeconfig = test_folder_path(&f->folder, "config", f->path);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    unsetenv("KUBECONFIG");
}

static void fini(struct fixture *f)
{
    test_folder_fini(&f->folder);
}

static void write_text(const struct fixture *f, const char *name, const char *text)
{
    test_folder_write(&f->folder, name, bytes_from_text(text));
}

static void load(struct fixture *f)
{
    f->e = (struct err){0};
    enum err_code rc = kube_access_init(&f->access, &f->settings, &f->e);
    assert_string_equal(f->e.text, "");
    assert_int_equal(rc, ERR_OK);
}

static void fails(struct fixture *f, const char *text)
{
    f->e = (struct err){0};
    enum err_code rc = kube_access_init(&f->access, &f->settings, &f->e);
    if (rc == ERR_OK || rc != f->e.code || strstr(f->e.text, text) == NULL)
        fail_msg("%d, \"%s\"; wanted \"%s\"", rc, f->e.text, text);
    assert_null(strstr(f->e.text, "s3cret"));
    kube_access_fini(&f->access);
}

static void assert_text(const char *text, const char *wanted)
{
    if (wanted == NULL)
        assert_null(text);
    else
        assert_string_equal(text, wanted);
}

static const struct logger nobody = {NULL, "processor", "k8s_attributes"};

static void test_service_account(void **state)
{
    (void)state;
    struct fixture f;
    char ca[256];
    init(&f, KUBE_AUTH_SERVICE_ACCOUNT);
    fails(&f, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set, so this is no pod");
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    fails(&f, "/token: No such file");
    write_text(&f, "token", "");
    fails(&f, "/token: it is empty");
    write_text(&f, "token", "s3cret\nand more");
    fails(&f, "more than one line");
    write_text(&f, "token", "s3cret");
    load(&f);
    assert_string_equal(f.access.server, "https://10.0.0.1:443");
    assert_string_equal(f.access.tls.ca_file, test_folder_path(&f.folder, "ca.crt", ca));
    assert_null(f.access.namespace_name);
    assert_string_equal(kube_access_authorization(&f.access, 1, &nobody), "Bearer s3cret");
    kube_access_fini(&f.access);

    setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
    write_text(&f, "namespace", "shop\n");
    load(&f);
    assert_string_equal(f.access.server, "https://[fd00::1]:443");
    assert_string_equal(f.access.namespace_name, "shop");
    kube_access_fini(&f.access);

    setenv("KUBERNETES_SERVICE_HOST", "[fd00::2]", 1);
    load(&f);
    assert_string_equal(f.access.server, "https://[fd00::2]:443");
    kube_access_fini(&f.access);

    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1/x?", 1);
    fails(&f, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: ");
    f.settings.endpoint = "https://other:6443/prefix/";
    load(&f);
    assert_string_equal(f.access.server, "https://other:6443/prefix");
    kube_access_fini(&f.access);
    fini(&f);
}

// Looked at once a second at most, but at once after it was refused.
static void test_tokens_rotate(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, KUBE_AUTH_SERVICE_ACCOUNT);
    f.settings.endpoint = "http://api";
    write_text(&f, "token", "one");
    load(&f);
    int64_t now = 10 * NANOS_PER_SECOND;
    assert_string_equal(kube_access_authorization(&f.access, now, &nobody), "Bearer one");
    write_text(&f, "token", "second\n");
    assert_string_equal(kube_access_authorization(&f.access, now + 1, &nobody), "Bearer one");
    assert_string_equal(kube_access_authorization(&f.access, now + NANOS_PER_SECOND, &nobody), "Bearer second");
    write_text(&f, "token", "the third");
    kube_access_refused(&f.access);
    assert_string_equal(kube_access_authorization(&f.access, now + NANOS_PER_SECOND + 1, &nobody), "Bearer the third");
    write_text(&f, "token", "");
    kube_access_refused(&f.access);
    assert_string_equal(kube_access_authorization(&f.access, now + 9 * NANOS_PER_SECOND, &nobody), "Bearer the third");
    kube_access_fini(&f.access);
    fini(&f);
}

static void test_none(void **state)
{
    (void)state;
    struct fixture f;
    init(&f, KUBE_AUTH_NONE);
    fails(&f, "auth_type none: the address of the API is missing: set endpoint");
    f.settings.endpoint = "http://127.0.0.1:8001";
    load(&f);
    assert_null(kube_access_authorization(&f.access, 1, &nobody));
    kube_access_fini(&f.access);
    fini(&f);
}

#define CONTEXT(user_part)                                                                                             \
    "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts:\n- {name: a, context: {cluster: c, user: u, "         \
    "namespace: shop}}\nclusters:\n- {name: c, cluster: {server: 'https://h:6443/', certificate-authority: pki/ca, "   \
    "tls-server-name: api, proxy-url: 'http://p:3128'}}\n- {name: other, cluster: {server: 'http://o', "               \
    "insecure-skip-tls-verify: true}}\nusers:\n- name: u\n  user: " user_part "\n"

static void test_users(void **state)
{
    (void)state;
    static const struct {
        const char *user, *authorization, *cert_file, *cert_pem, *key_file, *key_pem;
    } cases[] = {
        {"{token: s3cret}", "Bearer s3cret", NULL, NULL, NULL, NULL},
        {"{token: old, tokenFile: tokens/a}", "Bearer of-the-file", NULL, NULL, NULL, NULL},
        {"{username: Aladdin, password: open sesame}", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", NULL, NULL, NULL, NULL},
        {"{client-certificate: c.pem, client-key: /k.pem}", NULL, "c.pem", NULL, "/k.pem", NULL},
        {"{client-certificate: c.pem, client-certificate-data: UEVN, client-key-data: S0VZ}", NULL, NULL, "PEM", NULL,
         "KEY"},
        {"{}", NULL, NULL, NULL, NULL, NULL},
        {"{exec: null, auth-provider: , token: null, client-key: ~}", NULL, NULL, NULL, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        char text[2048], path[256];
        init(&f, KUBE_AUTH_KUBECONFIG);
        mkdir(test_folder_path(&f.folder, "tokens", path), 0700);
        write_text(&f, "tokens/a", "of-the-file\n");
        snprintf(text, sizeof text, CONTEXT("%s"), cases[i].user);
        write_text(&f, "config", text);
        load(&f);
        assert_string_equal(f.access.server, "https://h:6443");
        assert_string_equal(f.access.namespace_name, "shop");
        assert_string_equal(f.access.proxy_url, "http://p:3128");
        assert_string_equal(f.access.tls.server_name, "api");
        assert_string_equal(f.access.tls.ca_file, test_folder_path(&f.folder, "pki/ca", path));
        assert_false(f.access.tls.insecure_skip_verify);
        assert_text(kube_access_authorization(&f.access, 1, &nobody), cases[i].authorization);
        assert_text(f.access.tls.cert_pem, cases[i].cert_pem);
        assert_text(f.access.tls.key_pem, cases[i].key_pem);
        assert_text(f.access.tls.key_file, cases[i].key_file);
        assert_text(f.access.tls.cert_file,
                    cases[i].cert_file != NULL ? test_folder_path(&f.folder, cases[i].cert_file, path) : NULL);
        kube_access_fini(&f.access);
        fini(&f);
    }
}

static void test_kubeconfigs_of_no_use(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {CONTEXT("{exec: {command: aws}, token: s3cret}"),
         "the user \"u\" logs in with exec: profrelay starts no programs. Make a user with a tokenFile"},
        {CONTEXT("{auth-provider: {name: gcp}}"), "the user \"u\" logs in with auth-provider"},
        {CONTEXT("{tokenFile: gone}"), "/gone: No such file"},
        {CONTEXT("{token: \"s3cret\\n\"}"), "the user \"u\": the token is empty, too long or has control characters"},
        {CONTEXT("{client-key-data: 's3cret!'}"), "client-key-data of \"u\" is not base64 of PEM"},
        {"", "is no kubeconfig"},
        {"current-context: x\n---\ncurrent-context: y\n", "config:2:1: "},
        {"[]", "is no kubeconfig"},
        {"a: [", "config:"},
        {"contexts: []", "has no current-context: name one with context"},
        {"current-context: x", "there is no context \"x\" under contexts"},
        {"current-context: x\ncontexts: [{name: x, context: {user: u}}]", "the context \"x\" names no cluster"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: u}}]", "no cluster \"u\" under clusters"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: u}}]\nclusters: [{name: u, cluster: {}}]",
         "the cluster \"u\" has no server"},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: u}}]\nclusters: [{name: u, cluster: {server: "
         "'ftp://x'}}]",
         "the cluster \"u\": "},
        {"current-context: x\ncontexts: [{name: x, context: {cluster: u, user: v}}]\nclusters: [{name: u, cluster: "
         "{server: 'http://x'}}]\nusers: {}",
         "no user \"v\" under users"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct fixture f;
        init(&f, KUBE_AUTH_KUBECONFIG);
        write_text(&f, "config", cases[i].text);
        fails(&f, cases[i].says);
        fini(&f);
    }
}

static void test_which_file_and_context(void **state)
{
    (void)state;
    struct fixture f;
    char list[800], a[256], b[256];
    init(&f, KUBE_AUTH_KUBECONFIG);
    fails(&f, "cannot read the kubeconfig ");
    f.settings.kubeconfig = NULL;
    setenv("HOME", f.folder.path, 1);
    fails(&f, "/.kube/config: No such file");
    setenv("KUBECONFIG", "/gone:", 1);
    fails(&f, "none of the files that KUBECONFIG names is there");
    // several count as one: of the same name the first
    snprintf(list, sizeof list, "/gone:%s:%s", test_folder_path(&f.folder, "a", a),
             test_folder_path(&f.folder, "b", b));
    setenv("KUBECONFIG", list, 1);
    write_text(&f, "a", "contexts:\n- {name: second, context: {cluster: other}}\n");
    write_text(&f, "b", CONTEXT("{token: t}"));
    load(&f);
    assert_string_equal(f.access.server, "https://h:6443");
    kube_access_fini(&f.access);
    f.settings.context = "second";
    load(&f);
    assert_string_equal(f.access.server, "http://o");
    assert_true(f.access.tls.insecure_skip_verify);
    assert_null(f.access.namespace_name);
    assert_null(kube_access_authorization(&f.access, 1, &nobody));
    kube_access_fini(&f.access);
    fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service_account),
        cmocka_unit_test(test_tokens_rotate),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_kubeconfigs_of_no_use),
        cmocka_unit_test(test_which_file_and_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
