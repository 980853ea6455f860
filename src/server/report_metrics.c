/* SPDX-License-Identifier: Apache-2.0 */
/* report_metrics.c - everything of metrics.def as values with a name. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "server/report.h"
#include "server/version_text.h"
#include "store/quota.h"

struct metrics_to {
    report_value_fn fn;
    void *arg;
    struct strbuf name; /* scratch */
};

static void metrics_give(struct metrics_to *to, const char *name, struct report_value value)
{
    value.name = name;
    to->fn(&value, to->arg);
}

/* ---- gauges ---- */

/* What the expressions of metrics.def refer to as `g`. */
struct gauge_context {
    struct summary latency;
    bool in_ensemble, leads_others;
    struct role_standing standing; /* in an ensemble */
    char peer_state[32];
};

static struct gauge_context metrics_context(const struct server *s)
{
    struct gauge_context g = {.latency = metrics_latency(&s->stats),
                              .in_ensemble = s->role->standing != NULL};

    g.leads_others = g.in_ensemble && s->role->kind == ROLE_LEADER;
    if (g.in_ensemble) {
        s->role->standing(s->role, &g.standing);
        snprintf(g.peer_state, sizeof(g.peer_state), "%s - broadcast",
                 role_activity(s->role->kind));
    }
    return g;
}

#define TEXT(value_)                          \
    {                                         \
        .kind = REPORT_TEXT, .text = (value_) \
    }
#define INTEGER(value_)                                     \
    {                                                       \
        .kind = REPORT_INTEGER, .number = (int64_t)(value_) \
    }
#define RATIO(value_)                           \
    {                                           \
        .kind = REPORT_RATIO, .ratio = (value_) \
    }
#define AVERAGE(sum_, count_)                                       \
    {                                                               \
        .kind = REPORT_AVERAGE, .number = (sum_), .count = (count_) \
    }

static void metrics_gauges(const struct server *s, struct metrics_to *to)
{
    const struct gauge_context context = metrics_context(s), *g = &context;

#define GAUGE(name, value, help) metrics_give(to, #name, (struct report_value)value);
#include "server/metrics.def"
#define ROLE_GAUGE(name, when, value, help)                  \
    if (when) {                                              \
        metrics_give(to, #name, (struct report_value)value); \
    }
#include "server/metrics.def"
}

/* ---- counters and summaries ---- */

static const char *const counter_names[] = {
#define COUNTER(name, help) #name,
#include "server/metrics.def"
};

static const char *const summary_names[] = {
#define BASIC(NAME, name, help) #name,
#include "server/metrics.def"
#define FULL(NAME, name, help) #name,
#include "server/metrics.def"
};

static const char *metrics_name(struct metrics_to *to, const char *kind, struct bytes label,
                                const char *name)
{
    strbuf_clear(&to->name);
    if (kind != NULL) {
        strbuf_printf(&to->name, "%s_", kind);
    }
    for (size_t i = 0; i < label.len; i++) { /* a tab or a newline must not end a line */
        uint8_t c = label.data[i];

        strbuf_append(&to->name, c <= ' ' || c == 0x7f ? (const uint8_t *)"_" : &c, 1);
    }
    if (label.len > 0) {
        strbuf_append_str(&to->name, "_");
    }
    strbuf_append_str(&to->name, name);
    return strbuf_cstr(&to->name);
}

static void metrics_number(struct metrics_to *to, const char *kind, struct bytes label,
                           const char *name, int64_t number)
{
    metrics_give(to, metrics_name(to, kind, label, name), (struct report_value)INTEGER(number));
}

static void metrics_summary(struct metrics_to *to, struct bytes label, const char *name,
                            const struct summary *x)
{
    metrics_give(to, metrics_name(to, "avg", label, name),
                 (struct report_value)AVERAGE(x->sum, x->count));
    metrics_number(to, "min", label, name, summary_min(x));
    metrics_number(to, "max", label, name, summary_max(x));
    metrics_number(to, "cnt", label, name, (int64_t)x->count);
    metrics_number(to, "sum", label, name, x->sum);
}

static void metrics_percentiles(struct metrics_to *to, const char *name, const struct summary *x)
{
    static const char *const kinds[] = {"p50", "p95", "p99", "p999"};
    static const double quantiles[] = {0.5, 0.95, 0.99, 0.999};
    int64_t values[4];

    summary_percentiles(x, quantiles, 4, values);
    for (int i = 0; i < 4; i++) {
        metrics_number(to, kinds[i], BYTES_NULL, name, values[i]);
    }
}

static void metrics_numbers(const struct metrics *m, struct metrics_to *to)
{
    for (int i = 0; i < N_COUNTERS; i++) {
        metrics_give(to, counter_names[i], (struct report_value)INTEGER(m->counters[i]));
    }
    for (int i = 0; i < N_SUMMARIES; i++) {
        metrics_summary(to, BYTES_NULL, summary_names[i], &m->summaries[i]);
        if (i >= N_BASIC_SUMMARIES) {
            metrics_percentiles(to, summary_names[i], &m->summaries[i]);
        }
    }
}

/* ---- by namespace ---- */

static void metrics_traffic(const struct namespaces *n, struct metrics_to *to)
{
    struct list *item;

    list_for_each (item, &n->all) {
        const struct namespace *row = container_of(item, struct namespace, link);
        struct bytes label = bytes_of(row->name, row->len);

        if (row->reads.count > 0) {
            metrics_summary(to, label, "read_per_namespace", &row->reads);
        }
        if (row->writes.count > 0) {
            metrics_summary(to, label, "write_per_namespace", &row->writes);
        }
        if (row->n_over_quota > 0) {
            metrics_number(to, NULL, label, "quota_exceeded_error_per_namespace",
                           (int64_t)row->n_over_quota);
        }
    }
}

/* The quotas of one namespace, summed up. They are numbers that anybody may have written, and wrap
 * as Java's do. */
struct quota_sum {
    struct map_entry entry;
    struct list link;
    struct bytes label;
    uint64_t value[4];
};

struct quota_sums {
    struct map by_label;
    struct list all; /* in the order they were first seen */
};

static struct quota_sum *metrics_sum_of(struct quota_sums *sums, struct bytes label)
{
    uint64_t hash = hash_bytes(label.data, label.len, 0);
    struct quota_sum *sum;

    for (struct map_entry *e = map_first(&sums->by_label, hash); e != NULL; e = map_next(e)) {
        sum = container_of(e, struct quota_sum, entry);
        if (bytes_equal(sum->label, label)) {
            return sum;
        }
    }
    sum = must_zalloc(sizeof(*sum));
    sum->label = label;
    map_insert(&sums->by_label, &sum->entry, hash);
    list_push_back(&sums->all, &sum->link);
    return sum;
}

static void metrics_add_quota(const struct quota_row *row, void *arg)
{
    struct bytes label = namespace_name(row->path);
    struct quota_sum *sum;

    if (label.len > 0) {
        sum = metrics_sum_of(arg, label);
        sum->value[0] += (uint64_t)row->count_limit;
        sum->value[1] += (uint64_t)row->bytes_limit;
        sum->value[2] += (uint64_t)row->count;
        sum->value[3] += (uint64_t)row->bytes;
    }
}

static void metrics_quotas(const struct quota *q, struct metrics_to *to)
{
    static const char *const names[] = {
        "quota_count_limit_per_namespace", "quota_bytes_limit_per_namespace",
        "quota_count_usage_per_namespace", "quota_bytes_usage_per_namespace"};
    struct quota_sums sums;
    struct list *item;

    map_init(&sums.by_label);
    list_init(&sums.all);
    quota_each(q, metrics_add_quota, &sums);
    while ((item = list_pop_front(&sums.all)) != NULL) {
        struct quota_sum *sum = container_of(item, struct quota_sum, link);

        for (int k = 0; k < 4; k++) {
            metrics_number(to, NULL, sum->label, names[k], (int64_t)sum->value[k]);
        }
        free(sum);
    }
    map_fini(&sums.by_label);
}

void report_metrics(const struct server *s, report_value_fn fn, void *arg)
{
    struct metrics_to to = {.fn = fn, .arg = arg};

    strbuf_init(&to.name, STRBUF_NO_LIMIT);
    metrics_gauges(s, &to);
    metrics_numbers(&s->stats, &to);
    metrics_traffic(&s->stats.namespaces, &to);
    metrics_quotas(s->quota, &to);
    strbuf_fini(&to.name);
}
