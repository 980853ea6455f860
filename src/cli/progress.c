/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"

enum { PAUSE_MS = 200, BAR_WIDTH = 30 };

static bool is_drawn;

void progress_hide(void)
{
    if (is_drawn) {
        fputs("\r\033[K", stderr);
        is_drawn = false;
    }
}

void progress_begin(struct progress *p, bool is_wanted)
{
    *p = (struct progress){.is_on = is_wanted && isatty(STDERR_FILENO), .unit = "nodes"};
    p->began_ms = p->is_on ? clock_monotonic_ms() : 0;
    p->drawn_ms = p->began_ms;
}

/* "12 s", "3:05", "2:10:00" */
static void print_time(int64_t seconds)
{
    if (seconds < 60) {
        fprintf(stderr, "%" PRId64 " s", seconds);
    } else if (seconds < 3600) {
        fprintf(stderr, "%" PRId64 ":%02" PRId64, seconds / 60, seconds % 60);
    } else {
        fprintf(stderr, "%" PRId64 ":%02" PRId64 ":%02" PRId64, seconds / 3600, seconds / 60 % 60,
                seconds % 60);
    }
}

static void draw(const struct progress *p, int64_t n, int64_t done, int64_t total)
{
    static const char marks[] = "##############################";
    int64_t elapsed_ms = p->drawn_ms - p->began_ms;

    _Static_assert(sizeof(marks) == BAR_WIDTH + 1, "a whole bar");
    done = done > total ? total : done;
    fputs("\r\033[K", stderr);
    if (total > 0) {
        int width = (int)((double)BAR_WIDTH * (double)done / (double)total);

        fprintf(stderr, "[%.*s%*s] %3.0f %%  ", width, marks, BAR_WIDTH - width, "",
                100.0 * (double)done / (double)total);
    }
    fprintf(stderr, "%" PRId64 " %s, %.0f/s", n, p->unit, 1000.0 * (double)n / (double)elapsed_ms);
    if (total > 0 && done > 0) {
        fputs(", ", stderr);
        print_time((int64_t)((double)elapsed_ms / 1000 * (double)(total - done) / (double)done));
        fputs(" left", stderr);
    }
    fflush(stderr);
    is_drawn = true;
}

void progress_step(struct progress *p, int64_t n, int64_t done, int64_t total)
{
    int64_t now_ms;

    if (!p->is_on) {
        return;
    }
    now_ms = clock_monotonic_ms();
    if (now_ms - p->drawn_ms >= PAUSE_MS) {
        p->drawn_ms = now_ms;
        draw(p, n, done, total);
    }
}

void progress_end(struct progress *p)
{
    progress_hide();
    p->is_on = false;
}
