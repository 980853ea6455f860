/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - what is wrong or risky with a server, and what to do about it.
 *
 * Each part looks at one side of it and reports what it finds; nothing is changed. */
#ifndef PAWL_CLI_FILES_DOCTOR_H
#define PAWL_CLI_FILES_DOCTOR_H

#include "cli/cli.h"
#include "cli/files/server_config.h"

enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_RISK, FINDING_WRONG };

struct recovery_options;
struct server_place;
struct tls_context;

struct doctor {
    struct cli *cli;
    bool is_verbose;        /* what is good is told as well */
    const char *clock_node; /* that may be made to ask a leader for its time; NULL: none */
    int64_t n_risks, n_wrongs, n_looked;
};

/* `where` it is, what it is, and what to do; NULL: nothing is to be done. */
void doctor_tell(struct doctor *d, enum finding kind, const char *where, const char *advice,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

void doctor_config(struct doctor *d, const struct server_config *c);
void doctor_machine(struct doctor *d, int pid); /* 0: that process is not known */

/* False: it is not there, which was told. */
bool doctor_folder(struct doctor *d, const char *folder, bool is_measured);

/* As a server with these options would read them. */
void doctor_files(struct doctor *d, const char *data_dir, const char *log_dir,
                  const struct recovery_options *options);
void doctor_servers(struct doctor *d, const char *servers);

/* How far a server's clock is ahead of this machine's: somewhere between these. */
struct clock_bounds {
    bool is_known;
    int64_t least_ms, most_ms;
};

void doctor_clock(struct doctor *d, const char *name, const struct server_place *place,
                  struct tls_context *tls, struct clock_bounds *out);
void doctor_compare_clocks(struct doctor *d, const char *servers, const struct clock_bounds *all,
                           size_t n);

#endif
