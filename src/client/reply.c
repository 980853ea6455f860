/* SPDX-License-Identifier: Apache-2.0 */
#include "client/reply.h"

#include <stdlib.h>

#include "client/gzip.h"
#include "client/plan.h"
#include "wire/reply.h"

struct block {
    struct block *next;
    _Alignas(16) uint8_t data[];
};

/* What pawl_reply_free() is given; `reply` is first. */
struct box {
    struct pawl_reply reply;
    struct block *blocks;
    bool failed;
};

static void *reply_take(struct box *box, size_t size)
{
    struct block *b = malloc(sizeof(*b) + size);

    if (b == NULL) {
        box->failed = true;
        return NULL;
    }
    b->next = box->blocks;
    box->blocks = b;
    return b->data;
}

void pawl_reply_free(struct pawl_reply *reply)
{
    struct box *box = (struct box *)reply;
    struct block *next;

    if (box == NULL) {
        return;
    }
    for (struct block *b = box->blocks; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    free(box);
}

static struct box *new_box(int err, enum pawl_outcome outcome)
{
    struct box *box = calloc(1, sizeof(*box));

    if (box != NULL) {
        box->reply.err = err;
        box->reply.outcome = outcome;
    }
    return box;
}

struct pawl_reply *reply_error(int err, enum pawl_outcome outcome)
{
    struct box *box = new_box(err, outcome);

    return box == NULL ? NULL : &box->reply;
}

/* ---- pieces ---- */

static const char *text(struct box *box, struct bytes b)
{
    char *s = reply_take(box, b.len + 1);

    if (s != NULL) {
        if (b.len > 0) {
            memcpy(s, b.data, b.len);
        }
        s[b.len] = '\0';
    }
    return s;
}

/* Without the chroot and the namespace; "/" for those themselves. */
static const char *our_path(struct box *box, struct bytes path, uint32_t strip)
{
    if (path.len < strip) {
        return text(box, path);
    }
    if (path.len == strip && strip > 0) {
        return "/";
    }
    return text(box, bytes_of(path.data + strip, path.len - strip));
}

static void put_stat(struct pawl_stat *to, const struct stat_record *from)
{
    *to = (struct pawl_stat){
        .czxid = from->czxid,
        .mzxid = from->mzxid,
        .ctime = from->ctime,
        .mtime = from->mtime,
        .version = from->version,
        .cversion = from->cversion,
        .aversion = from->aversion,
        .ephemeral_owner = from->ephemeral_owner,
        .data_length = from->data_length,
        .n_children = from->n_children,
        .pzxid = from->pzxid,
    };
}

/* One block: the pointers, then the strings they point to. */
static void put_names(struct box *box, const struct string_list *list, struct pawl_strings *out)
{
    struct jute_reader r = jute_reader_of(list->elements);
    size_t n = list->count < 0 ? 0 : (size_t)list->count;
    const char **items;
    char *at;

    if (n == 0) {
        return;
    }
    items = reply_take(box, n * sizeof(*items) + list->elements.len + n);
    if (items == NULL) {
        return;
    }
    at = (char *)&items[n];
    for (size_t i = 0; i < n; i++) {
        struct bytes name = jute_read_buffer(&r);

        items[i] = at;
        if (name.len > 0) {
            memcpy(at, name.data, name.len);
        }
        at[name.len] = '\0';
        at += name.len + 1;
    }
    *out = (struct pawl_strings){items, n};
}

static void put_acls(struct box *box, const struct acl_list *list, struct pawl_acls *out)
{
    struct jute_reader r = jute_reader_of(list->elements);
    size_t n = list->count < 0 ? 0 : (size_t)list->count;
    struct pawl_acl *items = n == 0 ? NULL : reply_take(box, n * sizeof(*items));

    for (size_t i = 0; items != NULL && i < n; i++) {
        struct acl_entry e = acl_entry_read(&r);

        items[i].perms = e.perms;
        items[i].scheme = text(box, e.scheme);
        items[i].id = text(box, e.id);
    }
    *out = (struct pawl_acls){items, items == NULL ? 0 : n};
}

static void put_ids(struct box *box, const struct id_list *list, struct pawl_ids *out)
{
    struct jute_reader r = jute_reader_of(list->elements);
    size_t n = list->count < 0 ? 0 : (size_t)list->count;
    struct pawl_id *items = n == 0 ? NULL : reply_take(box, n * sizeof(*items));

    for (size_t i = 0; items != NULL && i < n; i++) {
        struct id_entry e = id_entry_read(&r);

        items[i].scheme = text(box, e.scheme);
        items[i].id = text(box, e.id);
    }
    *out = (struct pawl_ids){items, items == NULL ? 0 : n};
}

static void put_data(struct box *box, struct bytes data, bool inflate, struct pawl_reply *out)
{
    uint8_t *unpacked, *kept;
    size_t len;
    int rc;

    out->data = (struct pawl_bytes){data.data, data.len};
    if (!inflate) {
        return;
    }
    rc = gzip_unpack(data, INT32_MAX, &unpacked, &len);
    if (rc != 0) {
        out->err = rc; /* with the data as they are */
        return;
    }
    kept = reply_take(box, len + 1);
    if (kept != NULL) {
        memcpy(kept, unpacked, len);
        out->data = (struct pawl_bytes){kept, len};
    }
    free(unpacked);
}

/* ---- whole bodies ---- */

static void put_body(struct box *box, const struct call *call, const struct reply_body *body,
                     struct pawl_reply *out)
{
    if (!bytes_is_null(body->path)) {
        out->path = our_path(box, body->path, call->strip);
    }
    if (!bytes_is_null(body->data)) {
        put_data(box, body->data, call->inflate, out);
    }
    put_stat(&out->stat, &body->stat);
    put_names(box, &body->names, &out->children);
    put_acls(box, &body->acl, &out->acls);
    put_ids(box, &body->ids, &out->ids);
    out->number = body->number;
}

static size_t count_results(struct bytes multi)
{
    struct jute_reader r = jute_reader_of(multi);
    struct multi_header h;
    struct reply_body body;
    size_t n = 0;

    while (multi_result_next(&r, &h, &body) == MULTI_OP) {
        n++;
    }
    return n;
}

static void put_result(struct box *box, const struct call *call, const struct multi_header *h,
                       const struct reply_body *body, struct pawl_reply *out)
{
    *out = (struct pawl_reply){.zxid = call->zxid};
    if (h->type == MULTI_RESULT_ERROR) {
        out->err = body->number;
        out->outcome = PAWL_OUTCOME_REFUSED;
        return;
    }
    put_body(box, call, body, out);
}

/* A failed multi has an answer without an error: the first of its results that has one tells. In a
 * multi-read each stands for itself. */
static void put_multi(struct box *box, const struct call *call, struct bytes multi)
{
    struct pawl_reply *reply = &box->reply;
    size_t n = count_results(multi);
    struct jute_reader r = jute_reader_of(multi);
    struct pawl_reply *results = n == 0 ? NULL : reply_take(box, n * sizeof(*results));
    const struct pawl_reply **pointers = n == 0 ? NULL : reply_take(box, n * sizeof(*pointers));

    if (results == NULL || pointers == NULL) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct multi_header h;
        struct reply_body body;

        multi_result_next(&r, &h, &body);
        put_result(box, call, &h, &body, &results[i]);
        pointers[i] = &results[i];
        if (call->op == OP_MULTI && reply->err == 0 && results[i].err != 0) {
            reply->err = results[i].err;
            reply->outcome = PAWL_OUTCOME_REFUSED;
        }
    }
    reply->results = pointers;
    reply->n_results = n;
}

static void put_answer(struct box *box, const struct call *call, struct bytes bytes)
{
    struct jute_reader r = jute_reader_of(bytes);
    struct reply_body body;

    if (!reply_body_read(call->op, &r, &body)) {
        box->reply.err = PAWL_ERR_MARSHALLING;
        return;
    }
    if (call->op == OP_MULTI || call->op == OP_MULTI_READ) {
        put_multi(box, call, body.multi);
    } else {
        put_body(box, call, &body, &box->reply);
    }
}

bool reply_made_path(const struct call *call, char *out, size_t size)
{
    struct jute_reader r = jute_reader_of(call->body);
    struct reply_body body;
    struct bytes path;

    if (call->err != 0 || (call->op != OP_CREATE && call->op != OP_CREATE2 &&
                           call->op != OP_CREATE_CONTAINER && call->op != OP_CREATE_TTL)) {
        return false;
    }
    if (call->plan != NULL && call->plan->result_path != NULL) {
        path = bytes_str(call->plan->result_path);
    } else if (reply_body_read(call->op, &r, &body) && !bytes_is_null(body.path)) {
        path = body.path;
    } else {
        return false;
    }
    if (path.len <= call->strip || path.len - call->strip >= size) {
        return false;
    }
    memcpy(out, path.data + call->strip, path.len - call->strip);
    out[path.len - call->strip] = '\0';
    return true;
}

struct pawl_reply *reply_of(const struct call *call, bool copy)
{
    struct box *box = new_box(call->err, call->outcome);
    struct bytes body = call->body;

    if (box == NULL) {
        return NULL;
    }
    box->reply.zxid = call->zxid;
    if (call->err == 0 && copy && body.len > 0) {
        uint8_t *own = reply_take(box, body.len);

        if (own != NULL) {
            memcpy(own, body.data, body.len);
            body.data = own;
        }
    }
    if (call->err == 0 && call->op != OP_AUTH && !box->failed) {
        put_answer(box, call, body);
    }
    if (call->err == 0 && call->plan != NULL && call->plan->result_path != NULL) {
        box->reply.path = our_path(box, bytes_str(call->plan->result_path), call->strip);
    }
    if (box->failed) {
        box->reply = (struct pawl_reply){.err = PAWL_ERR_NO_MEMORY, .outcome = call->outcome};
    }
    return &box->reply;
}
