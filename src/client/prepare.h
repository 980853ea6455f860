/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.h - a call made ready: its path whole, its data packed, its ACL chosen, a plan if it
 * needs one. Each operation is prepared once and then finished in one of two ways: waited for, or
 * left to its callback. */
#ifndef PAWL_CLIENT_PREPARE_H
#define PAWL_CLIENT_PREPARE_H

#include "client/internal.h"

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
int prepare_choose_acl(struct engine *e, struct strbuf *out, const struct pawl_acls *given,
                       const char *path, struct acl_list *list);

/* Input structs may come from an older header: what it did not have is zero. */
void prepare_take_struct(void *to, size_t to_size, const void *from);
#define TAKE(local, given) prepare_take_struct(&(local), sizeof(local), given)

/* `rc` is what preparing came to; everything is freed. */
int prepared_wait(struct pawl_client *c, int rc, struct prepared *p, struct pawl_reply **out);
int prepared_start(struct pawl_client *c, int rc, struct prepared *p, pawl_reply_fn done,
                   void *arg);
int64_t prepared_deadline(int timeout_ms);

/* ---- ops.c; a multi is made of these ---- */

int prepare_create(struct pawl_client *c, const struct pawl_create *given, struct prepared *p);
int prepare_set(struct pawl_client *c, const struct pawl_set *given, struct prepared *p);
int prepare_delete(struct pawl_client *c, const struct pawl_delete *given, struct prepared *p);
int prepare_path(struct pawl_client *c, int32_t op, const char *path, struct prepared *p);

/* ---- multi.c ---- */

/* pawl_multi_check() of a path as `c` sees it, whatever view the multi is for. */
void multi_check_of(struct pawl_multi *m, const struct pawl_client *c, const char *path);

#endif
