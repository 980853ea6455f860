/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/records.h"

void stat_write(struct strbuf *b, const struct stat_record *s)
{
    uint8_t *p;

    if (!strbuf_reserve(b, STAT_BYTES)) {
        return;
    }
    p = b->data + b->len;
    store_u64(p, (uint64_t)s->czxid);
    store_u64(p + 8, (uint64_t)s->mzxid);
    store_u64(p + 16, (uint64_t)s->ctime);
    store_u64(p + 24, (uint64_t)s->mtime);
    store_u32(p + 32, (uint32_t)s->version);
    store_u32(p + 36, (uint32_t)s->cversion);
    store_u32(p + 40, (uint32_t)s->aversion);
    store_u64(p + 44, (uint64_t)s->ephemeral_owner);
    store_u32(p + 52, (uint32_t)s->data_length);
    store_u32(p + 56, (uint32_t)s->n_children);
    store_u64(p + 60, (uint64_t)s->pzxid);
    b->len += STAT_BYTES;
}

struct stat_record stat_read(struct jute_reader *r)
{
    struct stat_record s = {0};

    s.czxid = jute_read_long(r);
    s.mzxid = jute_read_long(r);
    s.ctime = jute_read_long(r);
    s.mtime = jute_read_long(r);
    s.version = jute_read_int(r);
    s.cversion = jute_read_int(r);
    s.aversion = jute_read_int(r);
    s.ephemeral_owner = jute_read_long(r);
    s.data_length = jute_read_int(r);
    s.n_children = jute_read_int(r);
    s.pzxid = jute_read_long(r);
    return s;
}

void stat_persisted_write(struct strbuf *b, const struct stat_persisted *s)
{
    uint8_t *p;

    if (!strbuf_reserve(b, STAT_PERSISTED_BYTES)) {
        return;
    }
    p = b->data + b->len;
    store_u64(p, (uint64_t)s->czxid);
    store_u64(p + 8, (uint64_t)s->mzxid);
    store_u64(p + 16, (uint64_t)s->ctime);
    store_u64(p + 24, (uint64_t)s->mtime);
    store_u32(p + 32, (uint32_t)s->version);
    store_u32(p + 36, (uint32_t)s->cversion);
    store_u32(p + 40, (uint32_t)s->aversion);
    store_u64(p + 44, (uint64_t)s->ephemeral_owner);
    store_u64(p + 52, (uint64_t)s->pzxid);
    b->len += STAT_PERSISTED_BYTES;
}

struct stat_persisted stat_persisted_read(struct jute_reader *r)
{
    struct stat_persisted s = {0};

    s.czxid = jute_read_long(r);
    s.mzxid = jute_read_long(r);
    s.ctime = jute_read_long(r);
    s.mtime = jute_read_long(r);
    s.version = jute_read_int(r);
    s.cversion = jute_read_int(r);
    s.aversion = jute_read_int(r);
    s.ephemeral_owner = jute_read_long(r);
    s.pzxid = jute_read_long(r);
    return s;
}

struct acl_entry acl_entry_read(struct jute_reader *r)
{
    struct acl_entry e;

    e.perms = jute_read_int(r);
    e.scheme = jute_read_buffer(r);
    e.id = jute_read_buffer(r);
    return e;
}

void acl_entry_write(struct strbuf *b, const struct acl_entry *e)
{
    jute_write_int(b, e->perms);
    jute_write_buffer(b, e->scheme);
    jute_write_buffer(b, e->id);
}

struct acl_list acl_list_read(struct jute_reader *r)
{
    struct acl_list list = {.count = jute_read_count(r)};
    const uint8_t *start = r->at;

    for (int32_t i = 0; i < list.count && !r->failed; i++) {
        acl_entry_read(r);
    }
    list.elements = bytes_of(start, (size_t)(r->at - start));
    return list;
}

void acl_list_write(struct strbuf *b, const struct acl_list *l)
{
    jute_write_int(b, l->count);
    strbuf_append_bytes(b, l->elements);
}

struct string_list string_list_read(struct jute_reader *r)
{
    struct string_list list = {.count = jute_read_count(r)};
    const uint8_t *start = r->at;

    for (int32_t i = 0; i < list.count && !r->failed; i++) {
        jute_read_buffer(r);
    }
    list.elements = bytes_of(start, (size_t)(r->at - start));
    return list;
}

void string_list_write(struct strbuf *b, const struct string_list *l)
{
    jute_write_int(b, l->count);
    strbuf_append_bytes(b, l->elements);
}

struct id_entry id_entry_read(struct jute_reader *r)
{
    struct id_entry e;

    e.scheme = jute_read_buffer(r);
    e.id = jute_read_buffer(r);
    return e;
}

void id_entry_write(struct strbuf *b, const struct id_entry *e)
{
    jute_write_buffer(b, e->scheme);
    jute_write_buffer(b, e->id);
}

struct id_list id_list_read(struct jute_reader *r)
{
    struct id_list list = {.count = jute_read_count(r)};
    const uint8_t *start = r->at;

    for (int32_t i = 0; i < list.count && !r->failed; i++) {
        id_entry_read(r);
    }
    list.elements = bytes_of(start, (size_t)(r->at - start));
    return list;
}

void id_list_write(struct strbuf *b, const struct id_list *l)
{
    jute_write_int(b, l->count);
    strbuf_append_bytes(b, l->elements);
}
