/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/options.h"

#include "daemon/config.h"
#include "daemon/logins.h"
#include "daemon/secure.h"

/* A client may leave this much unread before its requests wait, and this much beside one answer
 * before it is dropped: events cannot be held back, answers can. */
enum { OUTPUT_PAUSE_BYTES = 1 << 20, OUTPUT_LIMIT_BYTES = 32 << 20 };

/* What one client may have in flight, in watches, and of a turn: some thousand small reads, or one
 * that takes a millisecond and more. */
enum { IN_FLIGHT_BYTES = 4 << 20, WATCH_BYTES = 256 << 20, TURN_UNITS = 1 << 20 };

/* Between two looks at all clients no more time passes for them. The loop ticks ten times a second,
 * so what is longer than this was spent elsewhere: stopped, asleep, or in a long turn. */
enum { ATTENTION_MS = 250 };

enum { STANDALONE_SERVER_ID = 1 };

static void limits(const struct config *c, struct limit_options *o)
{
    *o = (struct limit_options){
        .max_buffer_bytes = c->server.max_packet_bytes,
        .max_txn_bytes =
            (int64_t)c->server.max_packet_bytes + (int64_t)c->server.max_packet_extra_bytes,
        .outstanding_limit = c->server.global_outstanding_limit,
        .throttle_requests = c->request_throttle.max_requests,
        .throttled_op_ms = c->server.throttled_op_wait_ms,
        .large_threshold = c->server.large_request_threshold_bytes > 0
                               ? c->server.large_request_threshold_bytes
                               : -1,
        .large_max_bytes = c->server.large_request_max_bytes,
        .output_pause_bytes = OUTPUT_PAUSE_BYTES,
        .output_limit_bytes = OUTPUT_LIMIT_BYTES,
        .in_flight_bytes = IN_FLIGHT_BYTES,
        .watch_bytes = WATCH_BYTES,
        .turn_units = TURN_UNITS,
        .changes_bytes = c->server.missed_events_bytes,
        .sessionless_ms = c->net.sessionless_ms,
        .max_per_address = c->net.max_per_address,
        .throttle_tokens = c->connection_throttle.tokens,
        .throttle_fill_ms = c->connection_throttle.fill_time_ms,
        .throttle_fill_count = c->connection_throttle.fill_count,
        .throttle_freeze_ms =
            c->connection_throttle.freeze_time_ms < 0 ? -1 : c->connection_throttle.freeze_time_ms,
        .throttle_drop_increase = c->connection_throttle.drop_increase,
        .throttle_drop_decrease = c->connection_throttle.drop_decrease,
        .throttle_decrease_ratio = c->connection_throttle.decrease_ratio,
        .throttle_weighted = c->connection_throttle.weighted,
        .weight_global = c->connection_throttle.global_session_weight,
        .weight_local = c->connection_throttle.local_session_weight,
        .weight_renew = c->connection_throttle.renew_session_weight,
    };
}

/* What Java does when both are given. */
static const char *enforced_schemes(const struct config *c)
{
    if (c->sasl.required) {
        return "sasl";
    }
    return c->security.enforce_auth ? c->security.enforce_auth_schemes : NULL;
}

void options_for_server(const struct config *c, struct server_options *out)
{
    *out = (struct server_options){
        .tick_ms = c->server.tick_ms,
        .min_session_timeout_ms = c->server.min_session_timeout_ms,
        .max_session_timeout_ms = c->server.max_session_timeout_ms,
        .server_id = config_is_ensemble(c) ? c->ensemble.my_id : STANDALONE_SERVER_ID,
        .attention_ms = ATTENTION_MS,
        .auth = {.skip_acl = c->server.skip_acl,
                 .digest_enabled = c->security.digest_enabled,
                 .digest_algorithm = c->security.digest_algorithm,
                 .super_digest = c->security.super_digest,
                 .enforced_schemes = enforced_schemes(c),
                 .x509_enabled =
                     secure_is_wanted(c, SECURE_CLIENTS) || config_is_given(c, "authProvider.x509"),
                 .x509_super = c->tls_super_user,
                 .sasl_enabled = logins_are_wanted(c),
                 .sasl_keep_failed = c->sasl.keep_failed,
                 .sasl_remove_host = c->sasl.remove_host,
                 .sasl_remove_realm = c->sasl.remove_realm,
                 .sasl_any = c->sasl.any,
                 .sasl_supers = c->sasl.supers,
                 .n_sasl_supers = c->sasl.n_supers},
        .extended_types = c->server.extended_types,
        .enforce_quota = c->server.enforce_quota,
        .reconfig_enabled = c->ensemble.reconfig_enabled,
        .close_session_txn = c->server.close_session_txn,
        .with_digest = c->store.digest,
        .reap_interval_ms = c->server.container_check_interval_ms,
        .reap_per_minute = c->server.container_max_per_minute,
        .reap_never_used_ms = c->server.container_max_never_used_ms,
        .words = c->server.four_letter_words,
        .read_only_mode = c->server.read_only_mode,
        .local_sessions = config_is_ensemble(c) && c->ensemble.local_sessions,
        .upgrade_sessions = c->ensemble.upgrade_sessions,
        .leader_serves_nobody = !c->ensemble.leader_serves,
    };
    limits(c, &out->limits);
}

void options_for_member(const struct config *c, struct member_options *out)
{
    *out = (struct member_options){
        .snap_count = c->store.snap_count,
        .snap_size_bytes = c->store.snap_size_limit_bytes > 0 ? c->store.snap_size_limit_bytes : 0,
    };
    options_for_server(c, &out->server);
}
