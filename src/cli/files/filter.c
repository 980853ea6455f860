/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/files/filter.h"

#include "wire/path.h"

static bool range_read(const struct cli *cli, const struct args *args, char letter,
                       bool (*parse)(const char *, struct span *), const char *what,
                       struct span *out)
{
    const char *text = args_text(args, letter);

    *out = (struct span){INT64_MIN, INT64_MAX};
    if (text == NULL || parse(text, out)) {
        return true;
    }
    cli_error(cli, "'%s' is no %s", text, what);
    return false;
}

bool filter_read_ranges(struct filter *f, const struct cli *cli, const struct args *args)
{
    const char *session = args_text(args, 'S');

    *f = (struct filter){.has_session = session != NULL};
    if (session != NULL && !zxid_parse(session, &f->session)) {
        cli_error(cli, "'%s' is no id of a session such as 0x100001043910000", session);
        return false;
    }
    return range_read(cli, args, 'z', zxid_span_parse,
                      "range of zxids such as 0x1f, 0x1f..0x2f, 0x1f.. or ..0x2f", &f->zxids) &&
           range_read(cli, args, 't', time_span_parse,
                      "range of times such as 2026-11-16 or 2026-11-16T14:30..2026-11-16T15:00",
                      &f->times);
}

bool filter_read(struct filter *f, const struct cli *cli, const struct args *args)
{
    const char *path = args_text(args, 'p');

    if (path != NULL && path[0] != '/') {
        cli_error(cli, "'%s' is no path: it begins with /", path);
        return false;
    }
    if (!filter_read_ranges(f, cli, args)) {
        return false;
    }
    f->path = path;
    return true;
}

bool filter_has_zxid(const struct filter *f, int64_t zxid)
{
    return zxid >= f->zxids.from && zxid <= f->zxids.to;
}

bool filter_has_time(const struct filter *f, int64_t time_ms)
{
    return time_ms >= f->times.from && time_ms <= f->times.to;
}

bool filter_has_path(const struct filter *f, struct bytes path)
{
    return f->path == NULL || path_is_within(path, bytes_str(f->path));
}

bool filter_has_session(const struct filter *f, int64_t session)
{
    return !f->has_session || session == f->session;
}

/* ---- the paths of a transaction ---- */

static void each_deleted(const struct txn_op *op, txn_path_fn fn, void *arg)
{
    struct jute_reader r = jute_reader_of(op->deleted.elements);
    struct txn_op gone = {.type = TXN_DELETE};

    for (int32_t i = 0; i < op->deleted.count; i++) {
        gone.path = jute_read_buffer(&r);
        if (r.failed || !fn(&gone, gone.path, arg)) {
            return;
        }
    }
}

void txn_each_path(const struct txn *txn, txn_path_fn fn, void *arg)
{
    struct jute_reader r = jute_reader_of(txn->op.multi);
    struct txn_op op;

    if (txn->op.type == TXN_CLOSE_SESSION) {
        each_deleted(&txn->op, fn, arg);
        return;
    }
    if (txn->op.type != TXN_MULTI) {
        if (!bytes_is_null(txn->op.path)) {
            fn(&txn->op, txn->op.path, arg);
        }
        return;
    }
    for (int32_t i = 0; i < txn->op.n_multi; i++) {
        if (txn_multi_next(&r, &op) != TXN_OK ||
            (!bytes_is_null(op.path) && !fn(&op, op.path, arg))) {
            return;
        }
    }
}

struct search {
    const struct filter *filter;
    bool is_found;
};

static bool look_at_path(const struct txn_op *op, struct bytes path, void *arg)
{
    struct search *s = arg;

    (void)op;
    s->is_found = filter_has_path(s->filter, path);
    return !s->is_found;
}

bool filter_has_txn(const struct filter *f, const struct txn *txn)
{
    struct search search = {.filter = f};

    if (!filter_has_zxid(f, txn->header.zxid) || !filter_has_time(f, txn->header.time_ms) ||
        !filter_has_session(f, txn->header.client_id)) {
        return false;
    }
    if (f->path == NULL) {
        return true;
    }
    txn_each_path(txn, look_at_path, &search);
    return search.is_found;
}
