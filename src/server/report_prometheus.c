/* SPDX-License-Identifier: Apache-2.0 */
#include "server/report_prometheus.h"

#include <inttypes.h>

#include "pawl/version.h"
#include "server/report_text.h"
#include "wire/utf8.h"

void prometheus_family(struct strbuf *out, const char *name, const char *type, const char *help)
{
    strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prometheus_number(struct strbuf *out, const char *name, const char *type, const char *help,
                       int64_t value)
{
    prometheus_family(out, name, type, help);
    strbuf_printf(out, "%s %" PRId64 "\n", name, value);
}

/* ---- values ---- */

/* In a label: what would end it is escaped. */
static void prom_escaped(struct strbuf *out, struct bytes text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];

        if (c == '\n') {
            strbuf_append_str(out, "\\n");
            continue;
        }
        if (c == '"' || c == '\\') {
            strbuf_append_str(out, "\\");
        }
        strbuf_append(out, &c, 1);
    }
}

/* {key="app",quantile="0.5"}, or as much of it as there is. */
static void prom_labels(struct strbuf *out, struct bytes label, const char *quantile)
{
    if (label.data == NULL && quantile == NULL) {
        return;
    }
    strbuf_append_str(out, "{");
    if (label.data != NULL) {
        struct strbuf scratch;

        strbuf_init(&scratch, STRBUF_NO_LIMIT);
        strbuf_append_str(out, "key=\"");
        prom_escaped(out, utf8_repaired(label, &scratch));
        strbuf_append_str(out, quantile == NULL ? "\"" : "\",");
        strbuf_fini(&scratch);
    }
    if (quantile != NULL) {
        strbuf_printf(out, "quantile=\"%s\"", quantile);
    }
    strbuf_append_str(out, "}");
}

static const char *const quantile_names[] = {"0.5", "0.9", "0.95", "0.99"};
static const double quantiles[] = {0.5, 0.9, 0.95, 0.99};
enum { N_QUANTILES = 4 };

/* Of traffic by namespace there is no sample: its median is not known. */
static void prom_quantiles(struct strbuf *out, const struct report_metric *m)
{
    size_t n = m->type == REPORT_FULL ? N_QUANTILES : 1;
    bool is_known = m->summary->count > 0 && m->summary->sample != NULL;
    int64_t values[N_QUANTILES];

    if (is_known) {
        summary_percentiles(m->summary, quantiles, n, values);
    }
    for (size_t i = 0; i < n; i++) {
        strbuf_append_str(out, m->name);
        prom_labels(out, m->label, quantile_names[i]);
        if (is_known) {
            strbuf_printf(out, " %" PRId64 "\n", values[i]);
        } else {
            strbuf_append_str(out, " NaN\n");
        }
    }
}

static void prom_summary(struct strbuf *out, const struct report_metric *m)
{
    prom_quantiles(out, m);
    strbuf_printf(out, "%s_count", m->name);
    prom_labels(out, m->label, NULL);
    strbuf_printf(out, " %" PRIu64 "\n%s_sum", m->summary->count, m->name);
    prom_labels(out, m->label, NULL);
    strbuf_printf(out, " %" PRId64 "\n", m->summary->sum);
}

static void prom_rows(struct strbuf *out, const struct report_metric *m)
{
    if (m->summary != NULL) {
        prom_summary(out, m);
        return;
    }
    strbuf_append_str(out, m->name);
    prom_labels(out, m->label, NULL);
    strbuf_append_str(out, " ");
    report_text_value(&m->value, out);
    strbuf_append_str(out, "\n");
}

/* ---- families ---- */

/* Two that are read when asked for, like gauges, are counters to ZooKeeper. */
static const char *prom_type(enum report_type type, const char *name)
{
    if (type == REPORT_BASIC || type == REPORT_FULL) {
        return "summary";
    }
    return type == REPORT_COUNTER || strcmp(name, "diff_count") == 0 ||
                   strcmp(name, "snap_count") == 0
               ? "counter"
               : "gauge";
}

/* Words, and a number that is a name, are for mntr alone. */
static bool prom_is_a_word(const struct report_metric *m)
{
    return m->summary == NULL &&
           (m->value.kind == REPORT_TEXT || strcmp(m->name, "observer_master_id") == 0);
}

static void prom_metric(const struct report_metric *m, void *arg)
{
    if (prom_is_a_word(m)) {
        return;
    }
    prometheus_family(arg, m->name, prom_type(m->type, m->name), m->help);
    prom_rows(arg, m);
}

struct prom_wanted {
    struct strbuf *out;
    const char *name;
};

static void prom_labelled(const struct report_metric *m, void *arg)
{
    const struct prom_wanted *wanted = arg;

    if (m->name == wanted->name) {
        prom_rows(wanted->out, m);
    }
}

static void prom_by_namespace(const struct server *s, struct strbuf *out)
{
    for (size_t i = 0; i < report_n_namespace_families; i++) {
        const struct report_family *f = &report_namespace_families[i];

        prometheus_family(out, f->name, prom_type(f->type, f->name), f->help);
        report_labelled(s, prom_labelled, &(struct prom_wanted){out, f->name});
    }
}

static void prom_of_pawl(const struct server *s, struct strbuf *out)
{
    static const enum role_kind kinds[] = {ROLE_NONE,   ROLE_READ_ONLY, ROLE_ALONE,
                                           ROLE_LEADER, ROLE_FOLLOWER,  ROLE_OBSERVER};

    prometheus_family(out, "pawl_info", "gauge", "always 1; its labels say which server this is");
    strbuf_append_str(out, "pawl_info{version=\"" PAWL_VERSION
                           "\",zookeeper_version=\"" PAWL_ZOOKEEPER_VERSION "\"} 1\n");
    prometheus_family(out, "pawl_role", "gauge",
                      "1 for the role that the server has, 0 for others");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        strbuf_printf(out, "pawl_role{role=\"%s\"} %d\n", role_name(kinds[i]),
                      s->role->kind == kinds[i]);
    }
    prometheus_number(out, "pawl_serving", "gauge", "1 while clients are taken",
                      server_takes_clients(s));
    prometheus_number(out, "pawl_last_zxid", "gauge", "the last transaction applied",
                      s->applied_zxid);
}

void report_prometheus(const struct server *s, struct strbuf *out)
{
    report_families(s, prom_metric, out);
    prom_by_namespace(s, out);
    prom_of_pawl(s, out);
}
