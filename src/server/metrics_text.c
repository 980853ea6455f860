/* SPDX-License-Identifier: Apache-2.0 */
#include "server/metrics_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "server/version_text.h"
#include "store/quota.h"

/* ---- gauges ---- */

/* What the expressions of metrics.def refer to as `g`. */
struct gauge_context {
    struct summary latency;
};

#define TEXT(text)          strbuf_append_str(out, text)
#define INTEGER(number)     strbuf_printf(out, "%" PRId64, (int64_t)(number))
#define RATIO(number)       summary_print_ratio(out, number)
#define AVERAGE(sum, count) summary_print_average(out, sum, count)

static void print_gauges(const struct server *s, const struct gauge_context *g, struct strbuf *out)
{
#define GAUGE(name, value, help)                  \
    do {                                          \
        strbuf_append_str(out, "zk_" #name "\t"); \
        value;                                    \
        strbuf_append_str(out, "\n");             \
    } while (0);
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

static void print_number(struct strbuf *out, const char *kind, const char *name, int64_t value)
{
    strbuf_printf(out, "zk_%s_%s\t%" PRId64 "\n", kind, name, value);
}

static void print_summary(struct strbuf *out, const char *name, const struct summary *x)
{
    strbuf_printf(out, "zk_avg_%s\t", name);
    summary_print_average(out, x->sum, x->count);
    strbuf_append_str(out, "\n");
    print_number(out, "min", name, summary_min(x));
    print_number(out, "max", name, summary_max(x));
    print_number(out, "cnt", name, (int64_t)x->count);
    print_number(out, "sum", name, x->sum);
}

static void print_percentiles(struct strbuf *out, const char *name, const struct summary *x)
{
    static const char *const kinds[] = {"p50", "p95", "p99", "p999"};
    static const double quantiles[] = {0.5, 0.95, 0.99, 0.999};
    int64_t values[4];

    summary_percentiles(x, quantiles, 4, values);
    for (int i = 0; i < 4; i++) {
        print_number(out, kinds[i], name, values[i]);
    }
}

static void print_numbers(const struct metrics *m, struct strbuf *out)
{
    for (int i = 0; i < N_COUNTERS; i++) {
        strbuf_printf(out, "zk_%s\t%" PRIu64 "\n", counter_names[i], m->counters[i]);
    }
    for (int i = 0; i < N_SUMMARIES; i++) {
        print_summary(out, summary_names[i], &m->summaries[i]);
        if (i >= N_BASIC_SUMMARIES) {
            print_percentiles(out, summary_names[i], &m->summaries[i]);
        }
    }
}

/* ---- by namespace ---- */

/* A tab or a newline in a node's name must not make a line of its own. */
static void append_label(struct strbuf *out, struct bytes name)
{
    for (size_t i = 0; i < name.len; i++) {
        uint8_t c = name.data[i];

        strbuf_append(out, c <= ' ' || c == 0x7f ? (const uint8_t *)"_" : &c, 1);
    }
}

static const char *labelled(struct strbuf *scratch, struct bytes label, const char *name)
{
    strbuf_clear(scratch);
    append_label(scratch, label);
    strbuf_printf(scratch, "_%s", name);
    return strbuf_cstr(scratch);
}

static void print_traffic(const struct namespaces *n, struct strbuf *scratch, struct strbuf *out)
{
    struct list *item;

    list_for_each (item, &n->all) {
        const struct namespace *row = container_of(item, struct namespace, link);
        struct bytes label = bytes_of(row->name, row->len);

        if (row->reads.count > 0) {
            print_summary(out, labelled(scratch, label, "read_per_namespace"), &row->reads);
        }
        if (row->writes.count > 0) {
            print_summary(out, labelled(scratch, label, "write_per_namespace"), &row->writes);
        }
        if (row->n_over_quota > 0) {
            strbuf_printf(out, "zk_%s\t%" PRIu64 "\n",
                          labelled(scratch, label, "quota_exceeded_error_per_namespace"),
                          row->n_over_quota);
        }
    }
}

/* The quotas of one namespace, summed up. */
struct quota_sum {
    struct bytes label;
    int64_t value[4];
};

struct quota_sums {
    struct quota_sum *rows;
    size_t n;
};

static struct quota_sum *sum_of(struct quota_sums *sums, struct bytes label)
{
    for (size_t i = 0; i < sums->n; i++) {
        if (bytes_equal(sums->rows[i].label, label)) {
            return &sums->rows[i];
        }
    }
    sums->rows = must_realloc(sums->rows, (sums->n + 1) * sizeof(*sums->rows));
    sums->rows[sums->n] = (struct quota_sum){.label = label};
    return &sums->rows[sums->n++];
}

static void add_quota(const struct quota_row *row, void *arg)
{
    struct bytes label = namespace_name(row->path);
    struct quota_sum *sum;

    if (label.len > 0) {
        sum = sum_of(arg, label);
        sum->value[0] += row->count_limit;
        sum->value[1] += row->bytes_limit;
        sum->value[2] += row->count;
        sum->value[3] += row->bytes;
    }
}

static void print_quotas(const struct quota *q, struct strbuf *scratch, struct strbuf *out)
{
    static const char *const names[] = {
        "quota_count_limit_per_namespace", "quota_bytes_limit_per_namespace",
        "quota_count_usage_per_namespace", "quota_bytes_usage_per_namespace"};
    struct quota_sums sums = {0};

    quota_each(q, add_quota, &sums);
    for (size_t i = 0; i < sums.n; i++) {
        for (int k = 0; k < 4; k++) {
            strbuf_printf(out, "zk_%s\t%" PRId64 "\n",
                          labelled(scratch, sums.rows[i].label, names[k]), sums.rows[i].value[k]);
        }
    }
    free(sums.rows);
}

void metrics_print(struct server *s, struct strbuf *out)
{
    struct gauge_context g = {metrics_latency(&s->stats)};
    struct strbuf scratch;

    strbuf_init(&scratch, STRBUF_NO_LIMIT);
    print_gauges(s, &g, out);
    print_numbers(&s->stats, out);
    print_traffic(&s->stats.namespaces, &scratch, out);
    print_quotas(s->quota, &scratch, out);
    strbuf_fini(&scratch);
}
