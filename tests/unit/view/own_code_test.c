// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/view/tree_fixture.h"

#include "view/own_code.h"

struct code {
    const char *name, *file, *module;
};

static const struct code own[] = {
    {"main.main", "/srv/app/main.go", "/srv/app/app"},
    {"example.com/shop/cart.(*Cart).Add", "/home/u/shop/cart/cart.go", NULL},
    {"main.netWork", "/srv/net/net.go", NULL},
    {"timers.Run", "/srv/timers/timers.go", NULL},
    {"handler", "/srv/app/views.py", NULL},
    {"main", "app.py", "/usr/local/bin/python3.12"},
    {"lib/server.py:-1 - bike", "lib/server.py", NULL},
    {"carSearchHandler", "/app/index.ts", NULL},
    {"com/example/Shop.cart", NULL, NULL},
    {"javalin.Foo", NULL, NULL},
    {"WebApplication1.Controllers!CpuController.Get", "WebApplication1", NULL},
    {"SystemInfo.Read", NULL, NULL},
    {"app::parse", "/home/u/app/src/main.rs", "/srv/app"},
    {"<app::Cart as core::fmt::Display>::fmt", NULL, "/srv/app"},
    {"<&mut app::Cart<alloc::vec::Vec<T>>>::add", NULL, "/srv/app"},
    {"src/main.rs:3 - app::std::run", NULL, NULL},
    {"&", NULL, NULL},
    {"work - ", NULL, NULL},
    {"Cart#add", "/app/models/cart.rb", NULL},
    {"work", "/src/work.c", "/opt/app/bin/app"},
    {"[app]", NULL, "/opt/app/bin/app"},
    {"work", NULL, "/opt/libtool/app"},
};

static const struct code others[] = {
    {"runtime.mallocgc", "/usr/local/go/src/runtime/malloc.go", "/srv/app/app"},
    {"runtime.mallocgc", NULL, NULL},
    {"net/http.(*conn).serve", "net/http/server.go", "/srv/app/app"},
    {"net/http.(*conn).serve", "/home/u/sdk/go1.22.4/src/net/http/server.go", NULL},
    {"github.com/x/y.Z", "/root/go/pkg/mod/github.com/x/y@v1.2.3/z.go", NULL},
    {"github.com/x/y.Z", "github.com/x/y@v1.2.3/z.go", NULL},
    {"github.com/x/y.Z", "/srv/app/vendor/github.com/x/y/z.go", NULL},
    {"get", "/usr/lib/python3/dist-packages/requests/api.py", NULL},
    {"run", "/usr/local/lib/python3.12/threading.py", NULL},
    {"_find_and_load", "<frozen importlib._bootstrap>", NULL},
    {"selectors.py:-1 - select", "selectors.py", NULL},
    {"http/server.py:-1 - handle", "http/server.py", NULL},
    {"_PyEval_EvalFrameDefault", NULL, "/usr/local/bin/python3.12"},
    {"_PyEval_EvalFrameDefault", NULL, "/opt/py/lib/libpython3.12.so.1.0"},
    {"emit", "node:events", NULL},
    {"node:events:emit:515", "node:events", NULL},
    {"handle", "/app/node_modules/express/lib/router.js", NULL},
    {"./node_modules/express/lib/express.js:app:39", NULL, NULL},
    {"processTicks", "internal/process/task_queues.js", NULL},
    {":(garbage collector):0", NULL, NULL},
    {"java/lang/Thread.run", NULL, NULL},
    {"java.lang.Thread.run", "Thread.java", NULL},
    {"Ljava/lang/Thread;::run", NULL, NULL},
    {"jdk.internal.misc.Unsafe.park", NULL, NULL},
    {"kotlin.collections.ArraysKt.copy", NULL, NULL},
    {"JavaThread::run", NULL, "/usr/lib/jvm/java-17/lib/server/libjvm.so"},
    {"System.Threading!ThreadPoolWorkQueue.Dispatch", "System.Private.CoreLib", NULL},
    {"Microsoft.AspNetCore.Routing!EndpointMiddleware.Invoke", "Microsoft.AspNetCore.Routing", NULL},
    {"times", "<internal:kernel>", NULL},
    {"call", "/usr/local/bundle/gems/rack-3.0/lib/rack.rb", NULL},
    {"core::ptr::drop_in_place", "/rustc/90b35a6/library/core/src/ptr/mod.rs", "/srv/app"},
    {"tokio::runtime::park", "/root/.cargo/registry/src/tokio-1.3/src/park.rs", "/srv/app"},
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop", NULL, "/srv/app"},
    {"&alloc::string::String::f", NULL, NULL},
    {"<&mut alloc::vec::Vec<T> as core::fmt::Debug>::fmt", NULL, NULL},
    {"&mut &[std::path::PathBuf]", NULL, NULL},
    {"<*const core::cell::Cell<T>>::get", NULL, NULL},
    {"<dyn core::any::Any>::is", NULL, NULL},
    {"<&T as core::fmt::Debug>::fmt", NULL, NULL},
    {"src/vec.rs:12 - <&alloc::vec::Vec<T> as core::ops::Drop>::drop", NULL, NULL},
    {"std::vector<int>::push_back", NULL, "/srv/app"},
    {"malloc", NULL, "/usr/lib/x86_64-linux-gnu/libc.so.6"},
    {"malloc", NULL, "/opt/lib/libc.so.6"},
    {"[ld-linux-x86-64.so.2]", NULL, "ld-linux-x86-64.so.2"},
    {"__do_sys_read", NULL, "[kernel.kallsyms]"},
    {"schedule", "kernel/sched/core.c", "vmlinux"},
    {"ext4_read", NULL, "/x/ext4.ko.xz"},
    {"do_syscall_64_[k]", NULL, NULL},
    {"PDO::query", "<internal>", NULL},
    {"[unknown]", NULL, NULL},
};

static void assert_own(const struct code *c, bool expected)
{
    if (is_own_code(bytes_from_text(c->name), bytes_from_text(c->file), bytes_from_text(c->module), NULL) != expected)
        fail_msg("%s of %s, %s is %sown code", c->name, c->file != NULL ? c->file : "no file",
                 c->module != NULL ? c->module : "no module", expected ? "not " : "");
}

static void rules_know_whose_code_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(own); i++)
        assert_own(&own[i], true);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_own(&others[i], false);
}

static void an_expression_stands_for_the_rules(void **state)
{
    (void)state;
    const struct bytes none = {0}, name = BYTES_LITERAL("runtime.x"), file = BYTES_LITERAL("/srv/x.go");
    struct regex *r;
    assert_int_equal(regex_compile(BYTES_LITERAL("^/srv|^runtime|lib"), &r, NULL), ERR_OK);
    assert_true(is_own_code(name, none, none, r));
    assert_true(is_own_code(none, file, none, r));
    assert_true(is_own_code(none, none, BYTES_LITERAL("/x/lib.so"), r));
    assert_false(is_own_code(BYTES_LITERAL("main.x"), BYTES_LITERAL("/app/srv"), none, r));
    regex_destroy(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_know_whose_code_it_is),
        cmocka_unit_test(an_expression_stands_for_the_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
