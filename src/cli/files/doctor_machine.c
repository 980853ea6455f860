/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_machine.c - clock, limits, memory and disk. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "cli/files/doctor.h"
#include "cli/latency.h"
#include "os/clock.h"

enum { FEW_FILES = 4096, SYNCS = 20, BLOCK_BYTES = 4096, SLOW_SYNC_US = 20000 };

static void look_at_clock(struct doctor *d)
{
    struct timex t = {0};

    if (adjtimex(&t) == TIME_ERROR || (t.status & STA_UNSYNC) != 0) {
        doctor_tell(d, FINDING_RISK, "clock", "run chrony or systemd-timesyncd",
                    "nothing keeps it right; times of nodes and TTLs go by it");
    } else {
        doctor_tell(d, FINDING_GOOD, "clock", NULL, "is kept right");
    }
}

/* "SwapTotal:  123 kB"; -1: not there. */
static long long field_of(const char *file, const char *name)
{
    FILE *f = fopen(file, "re");
    char line[256];
    long long value = -1;

    while (f != NULL && value < 0 && fgets(line, sizeof(line), f) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtoll(line + strcspn(line, "0123456789"), NULL, 10);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return value;
}

static void look_at_swap(struct doctor *d, int pid)
{
    long long total = field_of("/proc/meminfo", "SwapTotal:");
    long long free_kb = field_of("/proc/meminfo", "SwapFree:");
    long long swapped = -1;
    char file[64];

    if (pid > 0) {
        snprintf(file, sizeof(file), "/proc/%d/status", pid);
        swapped = field_of(file, "VmSwap:");
    }
    if (swapped > 0) {
        doctor_tell(d, FINDING_WRONG, "memory", "give the machine more, or the server less",
                    "%lld kB of the server are swapped out; its clients wait for the disk",
                    swapped);
    } else if (total > 0 && free_kb < total) {
        doctor_tell(d, FINDING_RISK, "memory", "see what uses it; lower vm.swappiness",
                    "%lld kB are swapped out", total - free_kb);
    } else {
        doctor_tell(d, FINDING_GOOD, "memory", NULL, "nothing is swapped out");
    }
}

static void look_at_limits(struct doctor *d, int pid)
{
    struct rlimit limit;
    const char *whose = pid > 0 ? "the server" : "who is started from here";

    if (prlimit(pid, RLIMIT_NOFILE, NULL, &limit) != 0) {
        return;
    }
    if (limit.rlim_cur < FEW_FILES) {
        doctor_tell(d, FINDING_RISK, "limits", "raise it: ulimit -n, or LimitNOFILE= of systemd",
                    "%s may have %llu files open, one for each client", whose,
                    (unsigned long long)limit.rlim_cur);
    } else {
        doctor_tell(d, FINDING_GOOD, "limits", NULL, "%llu open files",
                    (unsigned long long)limit.rlim_cur);
    }
}

void doctor_machine(struct doctor *d, int pid)
{
    look_at_clock(d);
    look_at_swap(d, pid);
    look_at_limits(d, pid);
}

/* ---- the disk ---- */

static bool look_at_space(struct doctor *d, const char *folder)
{
    struct statvfs s;
    unsigned percent;

    if (statvfs(folder, &s) != 0) {
        doctor_tell(d, FINDING_WRONG, folder, "make it, or correct dataDir", "%s", strerror(errno));
        return false;
    }
    percent = s.f_blocks > 0 ? (unsigned)(s.f_bavail * 100 / s.f_blocks) : 100;
    if (percent < 10 || (s.f_files > 0 && s.f_favail * 100 / s.f_files < 5)) {
        doctor_tell(d, percent < 3 ? FINDING_WRONG : FINDING_RISK, folder,
                    "remove old files there; a server that cannot write its log stops",
                    "%u %% of the disk are free, and %llu more files", percent,
                    (unsigned long long)s.f_favail);
    } else {
        doctor_tell(d, FINDING_GOOD, folder, NULL, "%u %% of the disk are free", percent);
    }
    if ((s.f_flag & ST_RDONLY) != 0) {
        doctor_tell(d, FINDING_WRONG, folder, "mount it read-write", "the disk is read-only");
    }
    return true;
}

static bool sync_once(int fd, struct latency *l)
{
    static const char block[BLOCK_BYTES];
    int64_t started_us = clock_monotonic_us();

    if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block) || fdatasync(fd) != 0) {
        return false;
    }
    latency_add(l, (uint64_t)(clock_monotonic_us() - started_us));
    return true;
}

/* In a file that has no name, and is gone whatever happens. */
static void measure(struct doctor *d, const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    struct latency l = {0};
    bool is_done = fd >= 0;

    for (int i = 0; i < SYNCS && is_done; i++) {
        is_done = sync_once(fd, &l);
    }
    if (!is_done) {
        doctor_tell(d, FINDING_NOTE, folder, NULL, "how fast it writes cannot be measured: %s",
                    strerror(errno));
    } else {
        bool is_slow = latency_at(&l, 0.5) > SLOW_SYNC_US;

        doctor_tell(d, is_slow ? FINDING_RISK : FINDING_GOOD, folder,
                    is_slow ? "each write waits for that; a faster disk, or one of its own" : NULL,
                    "a write is on disk after %" PRIu64 " us (half of them), %" PRIu64
                    " us (the slowest)",
                    latency_at(&l, 0.5), l.max_us);
    }
    if (fd >= 0) {
        close(fd);
    }
}

bool doctor_folder(struct doctor *d, const char *folder, bool is_measured)
{
    bool is_there = look_at_space(d, folder);

    if (is_there && is_measured) {
        measure(d, folder);
    }
    return is_there;
}
