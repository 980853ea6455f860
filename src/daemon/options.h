/* SPDX-License-Identifier: Apache-2.0 */
/* options.h - from the configuration to what each part wants to know of it. */
#ifndef PAWL_DAEMON_OPTIONS_H
#define PAWL_DAEMON_OPTIONS_H

#include "member/member.h"
#include "store/recovery.h"
#include "store/txnlog_write.h"

struct config;

/* What may change while the server runs is what these two fill; the strings are the
 * configuration's. */
void options_for_server(const struct config *c, struct server_options *out);
void options_for_member(const struct config *c, struct member_options *out);

void options_for_recovery(const struct config *c, struct recovery_options *out);
void options_for_txnlog(const struct config *c, struct txnlog_options *out);
enum snapshot_codec options_codec(const struct config *c);

#endif
