// SPDX-License-Identifier: Apache-2.0
// JFR recordings, handed on as they came.
#include "exporters/pyroscope_upload.h"
#include "exporters/pyroscope_writer.h"

#include <stdio.h>

bool pyroscope_is_recording(const struct profile *p)
{
    return bytes_equal_text(p->original_payload_format, "jfr") && p->columns->sample_count == 0;
}

static const struct value *attribute_of(const struct pyroscope_group *g, const char *key)
{
    const struct dictionary *d = g->batch->dictionary;
    const struct batch_range set = d->attribute_sets[pyroscope_group_profile(g)->attribute_set];
    for (uint32_t i = 0; i < set.count; i++) {
        const struct batch_attribute *a = &d->attributes[d->set_attributes[set.start + i]];
        if (bytes_equal_text(d->strings[a->key], key))
            return &a->value;
    }
    return NULL;
}

static struct bytes bytes_of(const struct pyroscope_group *g, const char *key, enum value_kind kind)
{
    const struct value *v = attribute_of(g, key);
    return v != NULL && v->kind == kind ? v->bytes : (struct bytes){NULL, 0};
}

static struct pyroscope_upload recording(const struct pyroscope_writer *w, const struct pyroscope_group *g,
                                         int64_t time)
{
    const struct value *rate = attribute_of(g, PYROSCOPE_ATTRIBUTE_SAMPLE_RATE);
    return (struct pyroscope_upload){
        .labels = w->labels,
        .format = "jfr",
        .from_nanos = time,
        .until_nanos = pyroscope_end(time, pyroscope_group_profile(g)),
        .sample_rate = rate != NULL && rate->kind == VALUE_INT ? rate->integer : 0,
        .units = bytes_of(g, PYROSCOPE_ATTRIBUTE_UNITS, VALUE_STRING),
        .aggregation_type = bytes_of(g, PYROSCOPE_ATTRIBUTE_AGGREGATION, VALUE_STRING),
    };
}

// NULL: out of memory.
static struct record *recording_record(const struct pyroscope_group *g, const struct pyroscope_upload *u)
{
    const struct bytes labels = bytes_of(g, PYROSCOPE_ATTRIBUTE_JFR_LABELS, VALUE_BYTES);
    char boundary[PYROSCOPE_BOUNDARY_SIZE], type[PYROSCOPE_BOUNDARY_SIZE + 32];
    struct buf data, query, form;
    buf_init(&data, SIZE_MAX);
    buf_init(&query, SIZE_MAX);
    buf_init(&form, SIZE_MAX);
    pyroscope_upload_query(u, &query);
    pyroscope_upload_form(pyroscope_group_profile(g)->original_payload, labels, boundary, &form);
    snprintf(type, sizeof type, "multipart/form-data; boundary=%s", boundary);
    pyroscope_upload_begin(buf_bytes(&query), type, &data);
    buf_add(&data, form.data, form.len);
    struct record *r = buf_ok(&query) && buf_ok(&form) ? pyroscope_record_of(&data) : NULL;
    buf_fini(&data);
    buf_fini(&query);
    buf_fini(&form);
    return r;
}

static enum err_code add_labelled(struct pyroscope_writer *w, const struct pyroscope_group *g, struct err *e)
{
    int64_t time = pyroscope_writer_time(w, pyroscope_group_profile(g));
    if (!pyroscope_times_take(&w->times, w->label_hash, &time))
        return pyroscope_no_memory(e);
    const struct pyroscope_upload u = recording(w, g, time);
    struct record *r = recording_record(g, &u);
    if (r == NULL)
        return pyroscope_no_memory(e);
    r->encoding = PYROSCOPE_INGEST;
    r->raw_bytes = r->len;
    r->profiles = 1;
    record_list_add(w->out, r);
    return ERR_OK;
}

enum err_code pyroscope_add_recording(struct pyroscope_writer *w, const struct pyroscope_group *g, struct err *e)
{
    struct pyroscope_labels labels;
    enum err_code rc = pyroscope_writer_label(w, g, &labels, e);
    if (rc == ERR_OK)
        rc = add_labelled(w, g, e);
    pyroscope_labels_fini(&labels);
    return rc;
}
