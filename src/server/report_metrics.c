/* SPDX-License-Identifier: Apache-2.0 */
/* report_metrics.c - everything of metrics.def, as families and as values with a name. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "server/report.h"
#include "server/version_text.h"
#include "store/quota.h"

struct families_to {
    report_metric_fn fn;
    void *arg;
};

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

static void give_gauge(const struct families_to *to, const char *name, const char *help,
                       struct report_value value)
{
    value.name = name;
    to->fn(&(struct report_metric){name, help, REPORT_GAUGE, BYTES_NULL, value, NULL}, to->arg);
}

static void metrics_gauges(const struct server *s, const struct families_to *to)
{
    const struct gauge_context context = metrics_context(s), *g = &context;

#define GAUGE(name, value, help) give_gauge(to, #name, help, (struct report_value)value);
#include "server/metrics.def"
#define ROLE_GAUGE(name, when, value, help)                      \
    if (when) {                                                  \
        give_gauge(to, #name, help, (struct report_value)value); \
    }
#include "server/metrics.def"
}

/* ---- counters and summaries ---- */

static const struct {
    const char *name, *help;
} counters[] = {
#define COUNTER(name, help) {#name, help},
#include "server/metrics.def"
};

static const struct {
    const char *name, *help;
} summaries[] = {
#define BASIC(NAME, name, help) {#name, help},
#include "server/metrics.def"
#define FULL(NAME, name, help) {#name, help},
#include "server/metrics.def"
};

static void give_number(const struct families_to *to, const struct report_family *family,
                        struct bytes label, int64_t number)
{
    to->fn(&(struct report_metric){family->name,
                                   family->help,
                                   family->type,
                                   label,
                                   {.name = family->name, .kind = REPORT_INTEGER, .number = number},
                                   NULL},
           to->arg);
}

static void give_summary(const struct families_to *to, const struct report_family *family,
                         struct bytes label, const struct summary *x)
{
    to->fn(&(struct report_metric){.name = family->name,
                                   .help = family->help,
                                   .type = family->type,
                                   .label = label,
                                   .summary = x},
           to->arg);
}

static void metrics_numbers(const struct metrics *m, const struct families_to *to)
{
    for (int i = 0; i < N_COUNTERS; i++) {
        give_number(to, &(struct report_family){counters[i].name, counters[i].help, REPORT_COUNTER},
                    BYTES_NULL, (int64_t)m->counters[i]);
    }
    for (int i = 0; i < N_SUMMARIES; i++) {
        give_summary(to,
                     &(struct report_family){summaries[i].name, summaries[i].help,
                                             i < N_BASIC_SUMMARIES ? REPORT_BASIC : REPORT_FULL},
                     BYTES_NULL, &m->summaries[i]);
    }
}

void report_families(const struct server *s, report_metric_fn fn, void *arg)
{
    const struct families_to to = {fn, arg};

    if (role_serves(s->role)) {
        metrics_gauges(s, &to);
    }
    metrics_numbers(&s->stats, &to);
}

/* ---- by namespace ---- */

enum {
    OF_READS,
    OF_WRITES,
    OF_QUOTA_EXCEEDED,
    OF_QUOTA, /* four of them */
};

const struct report_family report_namespace_families[] = {
#define PER_NAMESPACE(name, type, help) {#name, help, REPORT_##type},
#include "server/metrics.def"
};
const size_t report_n_namespace_families =
    sizeof(report_namespace_families) / sizeof(report_namespace_families[0]);

static void metrics_traffic(const struct namespaces *n, const struct families_to *to)
{
    const struct report_family *families = report_namespace_families;
    struct list *item;

    list_for_each (item, &n->all) {
        const struct namespace *row = container_of(item, struct namespace, link);
        struct bytes label = bytes_of(row->name, row->len);

        if (row->reads.count > 0) {
            give_summary(to, &families[OF_READS], label, &row->reads);
        }
        if (row->writes.count > 0) {
            give_summary(to, &families[OF_WRITES], label, &row->writes);
        }
        if (row->n_over_quota > 0) {
            give_number(to, &families[OF_QUOTA_EXCEEDED], label, (int64_t)row->n_over_quota);
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
    size_t n;
};

/* NULL: there are enough. */
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
    if (sums->n == NAMESPACES_MAX) {
        return NULL;
    }
    sums->n++;
    sum = must_zalloc(sizeof(*sum));
    sum->label = label;
    map_insert(&sums->by_label, &sum->entry, hash);
    list_push_back(&sums->all, &sum->link);
    return sum;
}

static void metrics_add_quota(const struct quota_row *row, void *arg)
{
    struct bytes label = namespace_name(row->path);
    struct quota_sum *sum = label.len > 0 ? metrics_sum_of(arg, label) : NULL;

    if (sum != NULL) {
        sum->value[0] += (uint64_t)row->count_limit;
        sum->value[1] += (uint64_t)row->bytes_limit;
        sum->value[2] += (uint64_t)row->count;
        sum->value[3] += (uint64_t)row->bytes;
    }
}

static void metrics_quotas(const struct quota *q, const struct families_to *to)
{
    struct quota_sums sums = {.n = 0};
    struct list *item;

    map_init(&sums.by_label);
    list_init(&sums.all);
    quota_each(q, metrics_add_quota, &sums);
    while ((item = list_pop_front(&sums.all)) != NULL) {
        struct quota_sum *sum = container_of(item, struct quota_sum, link);

        for (int k = 0; k < 4; k++) {
            give_number(to, &report_namespace_families[OF_QUOTA + k], sum->label,
                        (int64_t)sum->value[k]);
        }
        free(sum);
    }
    map_fini(&sums.by_label);
}

void report_labelled(const struct server *s, report_metric_fn fn, void *arg)
{
    const struct families_to to = {fn, arg};

    metrics_traffic(&s->stats.namespaces, &to);
    metrics_quotas(s->quota, &to);
}

/* ---- values with a name: several of each summary ---- */

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

static void metrics_values(const struct report_metric *m, void *arg)
{
    struct metrics_to *to = arg;

    if (m->summary == NULL) {
        metrics_give(to, metrics_name(to, NULL, m->label, m->name), m->value);
        return;
    }
    metrics_summary(to, m->label, m->name, m->summary);
    if (m->type == REPORT_FULL) {
        metrics_percentiles(to, m->name, m->summary);
    }
}

void report_metrics(const struct server *s, report_value_fn fn, void *arg)
{
    struct metrics_to to = {.fn = fn, .arg = arg};
    const struct families_to families = {metrics_values, &to};

    strbuf_init(&to.name, STRBUF_NO_LIMIT);
    metrics_gauges(s, &families);
    metrics_numbers(&s->stats, &families);
    report_labelled(s, metrics_values, &to);
    strbuf_fini(&to.name);
}
