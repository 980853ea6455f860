/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - a call made ready: its path whole, its data packed, its ACL chosen, a plan if it
 * needs one. Each operation is prepared once and then finished in one of two ways: waited for, or
 * left to its callback. */
#ifndef PAWL_CLIENT_PREPARE_H
#define PAWL_CLIENT_PREPARE_H

#include "base/strbuf.h"
#include "client/plan.h"
#include "client/watches.h"

struct engine;

struct prepared {
    struct call *call;
    struct request q;
    struct strbuf path, acl;
    uint8_t *packed;
    int timeout_ms;
    int flags;
    enum plan_kind kind;
    char id[40];
};

/* First of all, also when it fails: the others need a client that is one. */
int prepare_begin(const struct pawl_client *c, struct prepared *p, int32_t op);
void prepare_end(struct prepared *p); /* the call itself is not freed */

bool prepare_is_good_path(const char *path, bool sequential);
int prepare_append_path(const struct pawl_client *c, struct strbuf *out, const char *path);
int prepare_put_path(const struct pawl_client *c, struct prepared *p, const char *path);
int prepare_put_raw_path(struct prepared *p, const char *path); /* the server's name of it */
int prepare_put_watch(struct prepared *p, const struct pawl_watch *watch, enum watcher_kind table,
                      uint32_t strip);
int prepare_put_data(const struct pawl_client *c, struct prepared *p, const struct pawl_bytes *data,
                     int flags);
int prepare_put_version(struct prepared *p, const struct pawl_condition *condition);
int prepare_take_condition(const struct pawl_condition *condition, int64_t *version); /* -1: any */
int prepare_check_flags(int flags, int known);
int prepare_choose_acl(struct engine *e, struct strbuf *out, const struct pawl_acls *given,
                       const char *path, struct acl_list *list);

#endif
