/* SPDX-License-Identifier: Apache-2.0 */
#include "server/changes.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "store/acl_table.h"

enum { MAX_BLOCK_BYTES = 32 * 1024, MIN_BLOCK_BYTES = 256, BLOCKS = 16 };

struct changes_block {
    struct list link;
    uint64_t serial;
    int64_t last_zxid;
    size_t cost;              /* of it and of the ACLs that its changes name */
    uint32_t acl, parent_acl; /* of the last one */
    size_t used, capacity;
    uint8_t data[];
};

/* In a block, followed by the path. */
struct record {
    int64_t zxid;
    uint32_t acl, parent_acl;
    uint32_t len;
    uint32_t kind;
};

static size_t record_bytes(size_t path_len)
{
    return (sizeof(struct record) + path_len + 7) & ~(size_t)7;
}

static struct changes_block *first_block(const struct changes *ch)
{
    return list_empty(&ch->blocks) ? NULL
                                   : container_of(ch->blocks.next, struct changes_block, link);
}

static struct changes_block *last_block(const struct changes *ch)
{
    return list_empty(&ch->blocks) ? NULL
                                   : container_of(ch->blocks.prev, struct changes_block, link);
}

static struct bytes read_record(const struct changes_block *b, size_t at, struct record *out)
{
    ASSERT(at + sizeof(*out) <= b->used);
    memcpy(out, b->data + at, sizeof(*out));
    ASSERT(at + record_bytes(out->len) <= b->used);
    return bytes_of(b->data + at + sizeof(*out), out->len);
}

/* ---- ACLs ---- */

/* Of a node whose ACL is in no table (a fuzzy snapshot may have one): never anybody's, though the
 * number may become that of a list. */
enum { NO_ACL = -1 };

static uint32_t hold_acl(const struct changes *ch, uint32_t acl)
{
    if (!acl_table_known(ch->acls, acl)) {
        return (uint32_t)NO_ACL;
    }
    acl_table_ref(ch->acls, acl);
    return acl;
}

/* A list costs what it is, for this may be its only use; nothing more where the change before has
 * paid for it, which goes together with this one. */
static size_t acl_cost(const struct changes *ch, const struct changes_block *b, uint32_t acl)
{
    bool paid = acl == ACL_OPEN || acl == b->acl || acl == b->parent_acl;

    return paid ? 0 : acl_table_get(ch->acls, acl).len;
}

static void pay_for_acls(struct changes *ch, struct changes_block *b, const struct record *r)
{
    size_t cost = acl_cost(ch, b, r->acl) + acl_cost(ch, b, r->parent_acl);

    b->acl = r->acl;
    b->parent_acl = r->parent_acl;
    b->cost += cost;
    ch->bytes += cost;
}

/* ---- blocks ---- */

static void drop_first(struct changes *ch)
{
    struct changes_block *b = first_block(ch);
    struct record r;

    for (size_t at = 0; at < b->used; at += record_bytes(r.len)) {
        read_record(b, at, &r);
        acl_table_release(ch->acls, r.acl);
        acl_table_release(ch->acls, r.parent_acl);
    }
    ch->base = b->last_zxid;
    ch->bytes -= b->cost;
    list_remove(&b->link);
    free(b);
}

static struct changes_block *add_block(struct changes *ch, size_t need)
{
    size_t capacity = ch->limit / BLOCKS;
    struct changes_block *b;

    capacity = capacity > MAX_BLOCK_BYTES ? MAX_BLOCK_BYTES : capacity;
    capacity = capacity < MIN_BLOCK_BYTES ? MIN_BLOCK_BYTES : capacity;
    capacity = capacity < need ? need : capacity;
    b = must_alloc(sizeof(*b) + capacity);
    *b = (struct changes_block){
        .serial = ++ch->last_serial, .cost = sizeof(*b) + capacity, .capacity = capacity};
    ch->bytes += b->cost;
    list_push_back(&ch->blocks, &b->link);
    return b;
}

/* ---- life ---- */

void changes_init(struct changes *ch, size_t limit_bytes)
{
    *ch = (struct changes){.limit = limit_bytes};
    list_init(&ch->blocks);
}

void changes_clear(struct changes *ch)
{
    while (!list_empty(&ch->blocks)) {
        drop_first(ch);
    }
    ASSERT(ch->bytes == 0);
}

void changes_begin(struct changes *ch, struct acl_table *acls, int64_t zxid)
{
    changes_clear(ch);
    ch->acls = acls;
    ch->base = zxid;
}

/* ---- adding ---- */

void changes_add(struct changes *ch, int64_t zxid, const struct change *change)
{
    struct record r = {
        .zxid = zxid, .len = (uint32_t)change->path.len, .kind = (uint32_t)change->kind};
    size_t need = record_bytes(change->path.len);
    struct changes_block *b = last_block(ch);

    ASSERT(zxid >= (b == NULL ? ch->base : b->last_zxid));
    if (ch->limit == 0) {
        ch->base = zxid;
        return;
    }
    if (b == NULL || b->capacity - b->used < need) {
        b = add_block(ch, need);
    }
    r.acl = hold_acl(ch, change->acl);
    r.parent_acl = hold_acl(ch, change->parent_acl);
    memcpy(b->data + b->used, &r, sizeof(r));
    memcpy(b->data + b->used + sizeof(r), change->path.data, change->path.len);
    b->used += need;
    b->last_zxid = zxid;
    pay_for_acls(ch, b, &r);
    while (ch->bytes > ch->limit) {
        drop_first(ch);
    }
}

/* ---- reading ---- */

/* Past those of `b` that are not behind `zxid`. */
static size_t skip_in(const struct changes_block *b, int64_t zxid)
{
    struct record r;
    size_t at = 0;

    while (at < b->used) {
        read_record(b, at, &r);
        if (r.zxid > zxid) {
            break;
        }
        at += record_bytes(r.len);
    }
    return at;
}

bool changes_seek(const struct changes *ch, int64_t zxid, struct changes_cursor *out)
{
    struct list *item = ch->blocks.prev;

    if (zxid < ch->base) {
        return false;
    }
    *out = (struct changes_cursor){.serial = ch->last_serial};
    /* From the end: most have not missed much. */
    while (item != &ch->blocks &&
           container_of(item, struct changes_block, link)->last_zxid > zxid) {
        item = item->prev;
    }
    if (item->next != &ch->blocks) {
        struct changes_block *b = container_of(item->next, struct changes_block, link);

        *out = (struct changes_cursor){b, b->serial, skip_in(b, zxid)};
    } else if (last_block(ch) != NULL) {
        *out = (struct changes_cursor){last_block(ch), ch->last_serial, last_block(ch)->used};
    }
    return true;
}

/* The block behind the one that the cursor has read to its end. */
static struct changes_block *next_block(const struct changes *ch, const struct changes_cursor *c)
{
    struct list *next = c->block == NULL ? ch->blocks.next : c->block->link.next;

    return next == &ch->blocks ? NULL : container_of(next, struct changes_block, link);
}

/* All up to its block have gone; and it had not read that to its end, or nobody knows. */
static bool is_gone(const struct changes *ch, const struct changes_cursor *c)
{
    const struct changes_block *first = first_block(ch);
    uint64_t oldest = first == NULL ? ch->last_serial + 1 : first->serial;

    return c->block == NULL ? oldest != c->serial + 1 : oldest > c->serial;
}

enum changes_step changes_next(const struct changes *ch, struct changes_cursor *c,
                               struct past_change *out)
{
    struct record r;

    if (is_gone(ch, c)) {
        return CHANGES_GONE;
    }
    if (c->block == NULL || c->at == c->block->used) {
        struct changes_block *b = next_block(ch, c);

        if (b == NULL) {
            return CHANGES_END;
        }
        *c = (struct changes_cursor){b, b->serial, 0};
    }
    out->path = read_record(c->block, c->at, &r);
    out->zxid = r.zxid;
    out->kind = (enum change_kind)r.kind;
    out->acl = r.acl;
    out->parent_acl = r.parent_acl;
    c->at += record_bytes(r.len);
    return CHANGES_ONE;
}
