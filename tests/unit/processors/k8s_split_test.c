// SPDX-License-Identifier: Apache-2.0
// Profiles of whole hosts: each sample goes to the resource of its pod.
#include "tests/unit/processors/k8s_fixture.h"

#include "tests/support/fake_origin.h"

enum { POD_COUNT = 10 };

#define NAMES "extract: {metadata: [k8s.pod.name]}"

// Pods p0.. with uid u0.., container c0.. and address 10.0.0.0..
static struct kube_snapshot *pods_of(struct processor *p, unsigned count)
{
    struct cluster_object *list = mem_alloc(count * sizeof *list);
    char(*texts)[512] = mem_alloc(count * sizeof *texts);
    for (unsigned i = 0; i < count; i++) {
        snprintf(
            texts[i], sizeof texts[i],
            "{'metadata':{'name':'p%u','namespace':'shop','uid':'u%u'},'spec':{'nodeName':'n','containers':[{'name':"
            "'main','image':'shop:%u'}]},'status':{'podIP':'10.0.%u.%u','containerStatuses':[{'name':'main',"
            "'containerID':'containerd://c%u','restartCount':0}]}}",
            i, i, i % 2, i / 256, i % 256, i);
        list[i] = (struct cluster_object){KUBE_POD, texts[i]};
    }
    struct kube_snapshot *s = make_snapshot(p, list, count);
    free(list);
    free(texts);
    return s;
}

static void pods_begin(struct test_run *r, const char *yaml, unsigned count)
{
    run_begin(r, &k8s_attributes_processor, yaml);
    k8s_attributes_publish(processor_of(r), pods_of(processor_of(r), count));
}

// The batch is taken over.
static void assert_split(const char *yaml, struct batch *b, const char *sender, const char *expected)
{
    struct test_run r;
    pods_begin(&r, yaml, POD_COUNT);
    struct batch *before = batch_ref(b);
    if (process_from(&r, &b, sender) != ERR_OK)
        fail_msg("%s", r.e.text);
    assert_same_totals(before, b);
    char *text = brief_text(b);
    assert_string_equal(text, expected);
    free(text);
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
}

static void add_resource(struct builder *b, const char *key, const char *value)
{
    const struct key_value list = {bytes_from_text(key), value_string(bytes_from_text(value))};
    builder_resource(b, &list, 1, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, NULL, 0, 0, nothing);
}

static const struct test_sample host_samples[] = {{0, "container.id=c1,thread=1", 1},
                                                  {0, "k8s.pod.uid=u2,container.id=c2", 2},
                                                  {0, "", 4},
                                                  {0, "container.id=containerd://c1,thread=2", 8},
                                                  {0, "container.id=gone", 16},
                                                  {0, NULL, 0}};

static struct batch *host(void)
{
    struct builder *b = builder_create(0);
    add_resource(b, "host.name", "node");
    add_profile(b, &(struct test_profile){"cpu", "", host_samples});
    add_profile(b, &(struct test_profile){"wall", "comment=x", host_samples});
    return finish(b);
}

static void a_host_becomes_its_pods(void **state)
{
    (void)state;
    assert_split(NAMES, host(), "10.0.0.9", // the agent's own pod is none of them
                 "host.name=node,k8s.pod.name=p1\n"
                 "- cpu{}: {container.id=c1,thread=1}1 {container.id=containerd://c1,thread=2}8\n"
                 "  wall{comment=x}: {container.id=c1,thread=1}1 {container.id=containerd://c1,thread=2}8\n"
                 "host.name=node,k8s.pod.name=p2\n"
                 "- cpu{}: {k8s.pod.uid=u2,container.id=c2}2\n"
                 "  wall{comment=x}: {k8s.pod.uid=u2,container.id=c2}2\n"
                 "host.name=node\n"
                 "- cpu{}: {}4 {container.id=gone}16\n"
                 "  wall{comment=x}: {}4 {container.id=gone}16\n");
}

static void profiles_may_say_it_too(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    static const struct test_sample plain[] = {{0, "thread=1", 1}, {0, "k8s.pod.uid=u3", 2}, {0, NULL, 0}};
    add_resource(b, "host.name", "node");
    add_profile(b, &(struct test_profile){"cpu", "container.id=c1", plain});
    add_profile(b, &(struct test_profile){"cpu", "k8s.pod.ip=10.0.0.4", plain});
    add_profile(b, &(struct test_profile){"cpu", "", plain});
    assert_split(NAMES, finish(b), NULL,
                 "host.name=node,k8s.pod.name=p1\n"
                 "- cpu{container.id=c1}: {thread=1}1\n"
                 "host.name=node,k8s.pod.name=p3\n"
                 "- cpu{container.id=c1}: {k8s.pod.uid=u3}2\n"
                 "  cpu{k8s.pod.ip=10.0.0.4}: {k8s.pod.uid=u3}2\n"
                 "  cpu{}: {k8s.pod.uid=u3}2\n"
                 "host.name=node,k8s.pod.name=p4\n"
                 "- cpu{k8s.pod.ip=10.0.0.4}: {thread=1}1\n"
                 "host.name=node\n"
                 "- cpu{}: {thread=1}1\n");
}

// A resource that says itself which pod it is is not looked into; what other resources need is done in the same go.
static void a_resource_that_is_found_stays_whole(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    static const struct test_sample one[] = {{0, "container.id=c1", 1}, {0, NULL, 0}},
                                    other[] = {{0, "thread=1", 2}, {0, NULL, 0}};
    add_resource(b, "k8s.pod.uid", "u5");
    add_profile(b, &(struct test_profile){"cpu", "", one});
    add_resource(b, "a", "1");
    add_profile(b, &(struct test_profile){"cpu", "", one});
    add_resource(b, "b", "1"); // whose samples say nothing: it is the sender's
    add_profile(b, &(struct test_profile){"cpu", "", other});
    assert_split(NAMES, finish(b), "10.0.0.9",
                 "k8s.pod.uid=u5,k8s.pod.name=p5\n- cpu{}: {container.id=c1}1\n"
                 "a=1,k8s.pod.name=p1\n- cpu{}: {container.id=c1}1\n"
                 "b=1,k8s.pod.name=p9\n- cpu{}: {thread=1}2\n");
}

static void containers_of_samples_count(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    static const struct test_sample samples[] = {{0, "k8s.pod.uid=u1,k8s.container.name=main", 1},
                                                 {0, "k8s.pod.uid=u1,k8s.container.name=other", 2},
                                                 {0, "k8s.pod.uid=u1", 4},
                                                 {0, NULL, 0}};
    add_resource(b, "a", "1");
    add_profile(b, &(struct test_profile){"cpu", "", samples});
    assert_split("extract: {metadata: [k8s.pod.name, container.image.tag]}", finish(b), NULL,
                 "a=1,k8s.pod.name=p1,container.image.tag=1\n"
                 "- cpu{}: {k8s.pod.uid=u1,k8s.container.name=main}1 {k8s.pod.uid=u1}4\n"
                 "a=1,k8s.pod.name=p1\n"
                 "- cpu{}: {k8s.pod.uid=u1,k8s.container.name=other}2\n");
}

// A container's name alone does not say which pod it is.
static void containers_alone_split_nothing(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    static const struct test_sample samples[] = {{0, "k8s.container.name=main", 1}, {0, "", 2}, {0, NULL, 0}};
    add_resource(b, "a", "1");
    add_profile(b, &(struct test_profile){"cpu", "", samples});
    assert_split(NAMES, finish(b), "10.0.0.1", "a=1,k8s.pod.name=p1\n- cpu{}: {k8s.container.name=main}1 {}2\n");
}

static void own_rules_may_look_elsewhere(void **state)
{
    (void)state;
    struct builder *b = builder_create(0);
    static const struct test_sample samples[] = {
        {0, "k8s.pod.name=p1,k8s.namespace.name=shop", 1}, {0, "k8s.pod.name=p1", 2}, {0, NULL, 0}};
    add_resource(b, "a", "1");
    add_profile(b, &(struct test_profile){"cpu", "", samples});
    assert_split("pod_association: [{sources: [{from: sample_attribute, name: k8s.pod.name}, {from: sample_attribute, "
                 "name: k8s.namespace.name}]}]\nextract: {metadata: [k8s.pod.uid]}",
                 finish(b), NULL,
                 "a=1,k8s.pod.uid=u1\n- cpu{}: {k8s.pod.name=p1,k8s.namespace.name=shop}1\n"
                 "a=1\n- cpu{}: {k8s.pod.name=p1}2\n");
}

static void without_names_nothing_is_split(void **state)
{
    (void)state;
    struct test_run r;
    struct builder *b = builder_create(0);
    static const struct test_sample samples[] = {{0, "thread=1", 1}, {0, NULL, 0}};
    add_resource(b, "a", "1");
    add_profile(b, &(struct test_profile){"cpu", "", samples});
    struct batch *batch = finish(b), *before = batch_ref(batch);
    pods_begin(&r, NAMES, POD_COUNT);
    assert_int_equal(process_from(&r, &batch, "10.0.0.1"), ERR_OK);
    assert_ptr_not_equal(batch, before);
    assert_ptr_equal(batch->dictionary, before->dictionary);
    assert_ptr_equal(batch->resources[0]->scopes[0], before->resources[0]->scopes[0]);
    batch_unref(&batch);
    batch_unref(&before);
    run_end(&r);
}

static void what_stays_is_counted(void **state)
{
    (void)state;
    struct test_run r;
    struct builder *builder = builder_create(0);
    static const struct test_sample whole[] = {{0, "thread=1", 1}, {0, NULL, 0}};
    add_resource(builder, "host.name", "node");
    add_profile(builder, &(struct test_profile){"cpu", "", host_samples});
    add_profile(builder, &(struct test_profile){"wall", "comment=x", host_samples});
    add_resource(builder, "a", "1"); // is not split, so it has none that stay behind
    add_profile(builder, &(struct test_profile){"cpu", "", whole});
    struct batch *b = finish(builder);
    pods_begin(&r, NAMES, POD_COUNT);
    assert_int_equal(process_from(&r, &b, NULL), ERR_OK);
    batch_unref(&b);
    assert_true(page_has(&r, "profrelay_k8s_unmatched_samples{processor=\"k8s_attributes\"} 4\n"));
    assert_true(page_has(&r, "{pod_identifier=\"sample_attribute:container.id\",processor=\"k8s_attributes\",status="
                             "\"error\"} 2\n"));
    assert_true(page_has(&r, "{pod_identifier=\"sample_attribute:container.id\",processor=\"k8s_attributes\",status="
                             "\"success\"} 4\n"));
    run_end(&r);
}

// --- against a simple model ---

enum { MODEL_SAMPLES = 4000, MODEL_RESOURCES = 8 };

struct model_resource {
    int pod;         // what container.id of the resource says: -1 nothing, POD_COUNT and more: nobody
    bool names_pods; // some sample or profile does
    unsigned profiles;
};

struct model {
    struct test_random random;
    struct model_resource resources[MODEL_RESOURCES];
    unsigned resource_count;
    int sender; // -1 = not known
    struct {
        unsigned resource;
        int sample_uid, sample_container, profile_container;
    } samples[MODEL_SAMPLES]; // by value
    unsigned sample_count;
};

// About one of four says nothing, one of ten something unknown.
static int draw_pod(struct model *m)
{
    if (test_random_chance(&m->random, 25))
        return -1;
    return (int)test_random_below(&m->random, POD_COUNT) + (test_random_chance(&m->random, 10) ? POD_COUNT : 0);
}

static uint32_t text_attribute(struct builder *b, const char *key, const char *format, int number)
{
    char text[32];
    snprintf(text, sizeof text, format, number);
    const struct value v = value_string(bytes_from_text(text));
    return builder_attribute(b, builder_string_text(b, key), 0, &v);
}

static void draw_sample(struct model *m, struct builder *b, bool quiet, int profile_container, struct sample_writer *w,
                        struct observation_writer *o)
{
    uint32_t ids[3], count = 0;
    const int uid = quiet || test_random_chance(&m->random, 60) ? -1 : draw_pod(m),
              container = quiet ? -1 : draw_pod(m);
    if (uid >= 0)
        ids[count++] = text_attribute(b, "k8s.pod.uid", "u%d", uid);
    if (container >= 0)
        ids[count++] = text_attribute(b, "container.id", "c%d", container);
    ids[count++] = text_attribute(b, "thread", "t%d", (int)test_random_below(&m->random, 5));
    sample_writer_add(w, 0, builder_attribute_set(b, ids, count), 0);
    observation_writer_add_value(o, m->sample_count);
    struct model_resource *r = &m->resources[m->resource_count];
    r->names_pods |= uid >= 0 || container >= 0 || profile_container >= 0;
    m->samples[m->sample_count].resource = m->resource_count;
    m->samples[m->sample_count].sample_uid = uid;
    m->samples[m->sample_count].sample_container = container;
    m->samples[m->sample_count++].profile_container = profile_container;
}

static void draw_profile(struct model *m, struct builder *b, bool quiet)
{
    struct sample_writer w;
    struct observation_writer o;
    const int container = quiet || test_random_chance(&m->random, 70) ? -1 : draw_pod(m);
    struct profile p = {.sample_type = {builder_string_text(b, "cpu"), 0}};
    if (container >= 0) {
        const uint32_t id = text_attribute(b, "container.id", "c%d", container);
        p.attribute_set = builder_attribute_set(b, &id, 1);
    }
    sample_writer_init(&w, b);
    observation_writer_init(&o, b);
    for (unsigned i = 1 + test_random_below(&m->random, 40); i > 0; i--)
        draw_sample(m, b, quiet, container, &w, &o);
    p.columns = sample_writer_take(&w);
    p.observations = observation_writer_take(&o);
    builder_profile(b, &p);
    sample_writer_fini(&w);
    observation_writer_fini(&o);
}

static void draw_resource(struct model *m, struct builder *b)
{
    char host[16], container[16];
    struct model_resource *r = &m->resources[m->resource_count];
    r->pod = test_random_chance(&m->random, 60) ? -1 : draw_pod(m);
    snprintf(host, sizeof host, "r%u", m->resource_count);
    snprintf(container, sizeof container, "c%d", r->pod);
    const struct key_value list[] = {{BYTES_LITERAL("host"), value_string(bytes_from_text(host))},
                                     {BYTES_LITERAL("container.id"), value_string(bytes_from_text(container))}};
    builder_resource(b, list, r->pod < 0 ? 1 : 2, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, NULL, 0, 0, nothing);
    const bool quiet = test_random_chance(&m->random, 30);
    for (unsigned i = 1 + test_random_below(&m->random, 4); i > 0; i--)
        draw_profile(m, b, quiet);
    m->resource_count++;
}

static bool is_pod(int pod)
{
    return pod >= 0 && pod < POD_COUNT;
}

static int expected_pod(const struct model *m, uint32_t sample)
{
    const struct model_resource *r = &m->resources[m->samples[sample].resource];
    const int said[] = {m->samples[sample].sample_uid, m->samples[sample].sample_container,
                        m->samples[sample].profile_container};
    if (is_pod(r->pod))
        return r->pod;
    for (size_t i = 0; i < COUNT_OF(said); i++)
        if (is_pod(said[i]))
            return said[i];
    return r->pod < 0 && !r->names_pods ? m->sender : -1;
}

static void check_profile(const struct model *m, const struct resource *r, const struct profile *p, uint8_t *seen)
{
    const struct key_value *name = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("k8s.pod.name"));
    const struct key_value *host = key_values_find(r->attributes, r->attribute_count, BYTES_LITERAL("host"));
    for (uint32_t i = 0; i < p->columns->sample_count; i++) {
        const uint32_t sample = (uint32_t)p->observations->values[i];
        const int pod = expected_pod(m, sample);
        char text[16];
        seen[sample]++;
        snprintf(text, sizeof text, "r%u", m->samples[sample].resource);
        assert_true(bytes_equal_text(host->value.bytes, text));
        snprintf(text, sizeof text, "p%d", pod);
        if ((name != NULL) != (pod >= 0) || (name != NULL && !bytes_equal_text(name->value.bytes, text)))
            fail_msg("sample %u belongs to %s", sample, pod < 0 ? "no pod" : text);
    }
}

static void run_model(struct test_run *run, uint64_t seed)
{
    static struct model m;
    static uint8_t seen[MODEL_SAMPLES];
    struct builder *b = builder_create(0);
    m = (struct model){.random = {seed}};
    memset(seen, 0, sizeof seen);
    m.sender = test_random_chance(&m.random, 50) ? (int)test_random_below(&m.random, POD_COUNT) : -1;
    for (unsigned i = 1 + test_random_below(&m.random, MODEL_RESOURCES - 1); i > 0; i--)
        draw_resource(&m, b);
    char address[16];
    snprintf(address, sizeof address, "10.0.0.%d", m.sender);
    struct batch *batch = finish(b), *before = batch_ref(batch);
    assert_int_equal(process_from(run, &batch, m.sender < 0 ? NULL : address), ERR_OK);
    assert_same_totals(before, batch);
    for (uint32_t r = 0; r < batch->resource_count; r++)
        for (uint32_t s = 0; s < batch->resources[r]->scope_count; s++)
            for (uint32_t p = 0; p < batch->resources[r]->scopes[s]->profile_count; p++)
                check_profile(&m, batch->resources[r], &batch->resources[r]->scopes[s]->profiles[p], seen);
    for (unsigned i = 0; i < m.sample_count; i++)
        assert_int_equal(seen[i], 1);
    batch_unref(&before);
    batch_unref(&batch);
}

static void every_sample_lands_in_the_resource_of_its_pod(void **state)
{
    (void)state;
    struct test_run r;
    pods_begin(&r, NAMES, POD_COUNT);
    for (uint64_t seed = 1; seed <= 100; seed++)
        run_model(&r, seed);
    run_end(&r);
}

// --- cost and memory ---

static struct batch *large_host(unsigned pod_count, uint32_t samples)
{
    struct builder *b = builder_create(0);
    struct test_sample *list = mem_alloc((samples + 1) * sizeof *list);
    char(*names)[40] = mem_alloc(samples * sizeof *names);
    for (uint32_t i = 0; i < samples; i++) {
        snprintf(names[i], sizeof names[i], "container.id=c%u,thread=%u", i * 7 % pod_count, i % 10);
        list[i] = (struct test_sample){0, names[i], i};
    }
    add_resource(b, "host.name", "node");
    add_profile(b, &(struct test_profile){"cpu", "", list});
    free(list);
    free(names);
    return finish(b);
}

static size_t allocations_of(unsigned pod_count, uint32_t samples)
{
    struct test_run r;
    pods_begin(&r, "{}", 200);
    struct batch *b = large_host(pod_count, samples), *before = batch_ref(b);
    mem_fail_from(0);
    assert_int_equal(processor_of(&r)->module->process(processor_of(&r), &b, &(const struct sender){0}, &r.e), ERR_OK);
    const size_t count = mem_fail_count();
    assert_int_equal(b->resource_count, pod_count);
    assert_same_totals(before, b);
    batch_unref(&before);
    batch_unref(&b);
    run_end(&r);
    return count;
}

static void cost_grows_with_pods_not_with_samples(void **state)
{
    (void)state;
    const size_t few = allocations_of(200, 2000), many = allocations_of(200, 10000);
    assert_in_range(many, 200, few + few / 2);
    assert_in_range(allocations_of(20, 2000), 20, few / 4);
}

enum { MANY = 30000 };

// A profile whose set has as many attributes as there are samples, each with a set of its own, in a resource of as many
// attributes: what is looked at again for each sample takes minutes.
static struct batch *wide_host(void)
{
    struct builder *b = builder_create(0);
    struct key_value *list = mem_alloc(MANY * sizeof *list);
    uint32_t *wide = mem_alloc(MANY * sizeof *wide);
    struct sample_writer samples;
    struct arena names;
    arena_init(&names, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        list[i].key = bytes_from_text(arena_format(&names, "key%u", i));
        list[i].value = value_int(i);
        wide[i] = builder_attribute(b, builder_string(b, list[i].key), 0, &list[i].value);
    }
    builder_resource(b, list, MANY, 0, nothing);
    builder_scope(b, BYTES_LITERAL("scope"), nothing, NULL, 0, 0, nothing);
    sample_writer_init(&samples, b);
    for (uint32_t i = 0; i < MANY; i++) {
        char text[64];
        snprintf(text, sizeof text, "k8s.pod.uid=u%u,thread=%u", i % POD_COUNT, i);
        sample_writer_add(&samples, 0, set_of(b, text), 0);
    }
    add_written(b, &samples, MANY, (struct profile){.attribute_set = builder_attribute_set(b, wide, MANY)});
    struct batch *batch = finish(b);
    free(wide);
    free(list);
    arena_fini(&names);
    return batch;
}

static void wide_sets_and_resources_are_quick(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = wide_host();
    const clock_t start = clock();
    pods_begin(&r, "extract: {metadata: [k8s.pod.name, k8s.container.name]}", POD_COUNT);
    assert_int_equal(process_from(&r, &b, NULL), ERR_OK);
    assert_true(clock() - start < 3 * CLOCKS_PER_SEC);
    assert_int_equal(b->resource_count, POD_COUNT);
    assert_int_equal(b->sample_count, MANY);
    batch_unref(&b);
    run_end(&r);
}

static void a_failed_allocation_leaves_the_batch(void **state)
{
    (void)state;
    struct test_run r;
    struct batch *b = host();
    char *text = batch_lines(&b, 1);
    enum err_code rc = ERR_MEMORY;
    size_t n = 1;
    pods_begin(&r, "{}", POD_COUNT);
    for (; rc != ERR_OK; n++) {
        struct batch *before = b;
        mem_fail_from(n);
        rc = process_from(&r, &b, NULL);
        assert_in_range(n, 1, 1000);
        assert_true(rc == ERR_OK || (rc == ERR_MEMORY && b == before));
        if (rc == ERR_OK)
            break;
        char *now = batch_lines(&b, 1);
        assert_string_equal(now, text);
        free(now);
    }
    assert_in_range(n, 20, 1000);
    assert_int_equal(b->resource_count, 3);
    free(text);
    batch_unref(&b);
    run_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_becomes_its_pods),
        cmocka_unit_test(profiles_may_say_it_too),
        cmocka_unit_test(a_resource_that_is_found_stays_whole),
        cmocka_unit_test(containers_of_samples_count),
        cmocka_unit_test(containers_alone_split_nothing),
        cmocka_unit_test(own_rules_may_look_elsewhere),
        cmocka_unit_test(without_names_nothing_is_split),
        cmocka_unit_test(what_stays_is_counted),
        cmocka_unit_test(every_sample_lands_in_the_resource_of_its_pod),
        cmocka_unit_test(cost_grows_with_pods_not_with_samples),
        cmocka_unit_test(wide_sets_and_resources_are_quick),
        cmocka_unit_test(a_failed_allocation_leaves_the_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
