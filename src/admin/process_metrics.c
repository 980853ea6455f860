/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/process_metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "admin/admin_internal.h"
#include "os/socket.h"
#include "server/report_prometheus.h"

/* Of /proc/self/stat: fields are counted behind the name, which may contain anything. */
struct process_stat {
    unsigned long long user_ticks, system_ticks, start_ticks, virtual_bytes;
    long long resident_pages;
};

static bool read_stat(struct process_stat *out)
{
    char text[1024];
    FILE *file = fopen("/proc/self/stat", "re");
    size_t len = file == NULL ? 0 : fread(text, 1, sizeof(text) - 1, file);
    const char *behind;

    if (file != NULL) {
        fclose(file);
    }
    text[len] = '\0';
    behind = strrchr(text, ')');
    return behind != NULL &&
           sscanf(behind + 1,
                  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d "
                  "%llu %llu %lld",
                  &out->user_ticks, &out->system_ticks, &out->start_ticks, &out->virtual_bytes,
                  &out->resident_pages) == 5;
}

static double now_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void process_decimal(struct strbuf *out, const char *name, const char *type,
                            const char *help, double value)
{
    prometheus_family(out, name, type, help);
    strbuf_printf(out, "%s %.6f\n", name, value);
}

static void of_the_process(struct strbuf *out)
{
    double hertz = (double)sysconf(_SC_CLK_TCK);
    struct process_stat s;

    if (!read_stat(&s)) {
        return;
    }
    process_decimal(out, "process_cpu_seconds_total", "counter", "processor time of the process",
                    (double)(s.user_ticks + s.system_ticks) / hertz);
    process_decimal(out, "process_start_time_seconds", "gauge", "when it started, since 1970",
                    now_of(CLOCK_REALTIME) - now_of(CLOCK_BOOTTIME) +
                        (double)s.start_ticks / hertz);
    prometheus_number(out, "process_virtual_memory_bytes", "gauge", "its address space",
                      (int64_t)s.virtual_bytes);
    prometheus_number(out, "process_resident_memory_bytes", "gauge", "its memory",
                      s.resident_pages * (int64_t)sysconf(_SC_PAGESIZE));
}

static void of_its_files(struct strbuf *out)
{
    int64_t n_open = 0, n_max = 0;

    count_open_files(&n_open, &n_max);
    prometheus_number(out, "process_open_fds", "gauge", "open files", n_open);
    prometheus_number(out, "process_max_fds", "gauge", "how many it may open", n_max);
}

void process_metrics(const struct admin *a, struct strbuf *out)
{
    of_the_process(out);
    of_its_files(out);
    prometheus_number(out, "pawl_admin_requests_total", "counter", "requests over HTTP",
                      (int64_t)a->n_requests);
    prometheus_number(out, "pawl_admin_refused_total", "counter",
                      "of them those that were not what may be asked", (int64_t)a->n_refused);
    prometheus_number(out, "pawl_admin_cut_off_total", "counter",
                      "connections closed because they took too long", (int64_t)a->n_cut_off);
    prometheus_number(out, "pawl_admin_asked_total", "counter",
                      "times the server's thread was asked", (int64_t)a->n_asked);
    process_decimal(out, "pawl_admin_asked_seconds_total", "counter", "what that took of its time",
                    (double)a->asked_us / 1e6);
    process_decimal(out, "pawl_admin_asked_longest_seconds", "gauge",
                    "what one of them took at most", (double)a->asked_longest_us / 1e6);
}
