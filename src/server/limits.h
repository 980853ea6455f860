/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how much the server takes on, and from whom. */
#ifndef PAWL_SERVER_LIMITS_H
#define PAWL_SERVER_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/prng.h"

struct limit_options {
    int64_t max_buffer_bytes;   /* jute.maxbuffer: the largest frame taken */
    int64_t max_txn_bytes;      /* with its extra size: what the log's reader takes; 0: no limit */
    int64_t outstanding_limit;  /* globalOutstandingLimit */
    int64_t throttle_requests;  /* request_throttle_max_requests; 0: off */
    int64_t throttled_op_ms;    /* throttled_op_wait_time; 0: off */
    int64_t large_threshold;    /* largeRequestThreshold; -1: off */
    int64_t large_max_bytes;    /* largeRequestMaxBytes */
    int64_t output_pause_bytes; /* unread answers above which a client's requests wait */
    int64_t output_limit_bytes; /* unread bytes, beside one answer, above which it is dropped */
    int64_t in_flight_bytes;    /* of one client's writes; above it its requests wait; 0: off */
    int64_t watch_bytes;        /* of one client's watches; above it is closed; 0: no limit */
    int64_t turn_units;         /* one client's share of a turn, see pipeline.c; 0: no limit */
    int64_t changes_bytes;      /* of past changes, for clients that come back; 0: none */
    int64_t sessionless_ms;     /* nio.sessionlessCnxnTimeout */
    int64_t max_per_address;    /* maxClientCnxns; 0: no limit */

    int64_t throttle_tokens; /* connection_throttle_tokens; 0: off */
    int64_t throttle_fill_ms;
    int64_t throttle_fill_count;
    int64_t throttle_freeze_ms; /* -1: no random early drop */
    double throttle_drop_increase;
    double throttle_drop_decrease;
    double throttle_decrease_ratio;
    bool throttle_weighted;
    int64_t weight_global, weight_local, weight_renew;
};

/* The token bucket that new sessions pay from. */
struct connection_throttle {
    int64_t tokens;
    int64_t filled_ms;
    int64_t adjusted_ms;
    double drop_probability;
};

enum throttle_kind { THROTTLE_NEW, THROTTLE_RENEWAL, THROTTLE_NEW_LOCAL };

void throttle_init(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms);

/* How many tokens are out. */
int64_t throttle_deficit(const struct connection_throttle *t, const struct limit_options *o);

/* Whether a ConnectRequest may go on; pays if so. */
bool throttle_admit(struct connection_throttle *t, const struct limit_options *o, int64_t now_ms,
                    enum throttle_kind kind, struct prng *prng);

#endif
