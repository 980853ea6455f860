/* SPDX-License-Identifier: Apache-2.0 */
/* records.h - records that requests, replies, transactions and files share. */
#ifndef PAWL_WIRE_RECORDS_H
#define PAWL_WIRE_RECORDS_H

#include "wire/jute.h"

enum {
    PERM_READ = 1,
    PERM_WRITE = 2,
    PERM_CREATE = 4,
    PERM_DELETE = 8,
    PERM_ADMIN = 16,
    PERM_ALL = 31,
};

/* What a client sees of a node; 68 bytes. */
struct stat_record {
    int64_t czxid, mzxid, ctime, mtime;
    int32_t version, cversion, aversion;
    int64_t ephemeral_owner;
    int32_t data_length, n_children;
    int64_t pzxid;
};
enum { STAT_BYTES = 68 };

void stat_write(struct strbuf *b, const struct stat_record *s);
struct stat_record stat_read(struct jute_reader *r);

/* What is stored of a node; 60 bytes. `cversion` counts creations only, and the owner is the raw
 * one, with the marks of container and TTL nodes. */
struct stat_persisted {
    int64_t czxid, mzxid, ctime, mtime;
    int32_t version, cversion, aversion;
    int64_t ephemeral_owner;
    int64_t pzxid;
};
enum { STAT_PERSISTED_BYTES = 60 };

void stat_persisted_write(struct strbuf *b, const struct stat_persisted *s);
struct stat_persisted stat_persisted_read(struct jute_reader *r);

struct acl_entry {
    int32_t perms;
    struct bytes scheme;
    struct bytes id;
};

/* A vector<ACL> as it stands in its frame, count included: walked, not allocated. */
struct acl_list {
    int32_t count;         /* -1: null */
    struct bytes elements; /* behind the count */
};

/* Fails the reader when an element does not fit. */
struct acl_list acl_list_read(struct jute_reader *r);
struct acl_entry acl_entry_read(struct jute_reader *r);
void acl_entry_write(struct strbuf *b, const struct acl_entry *e);
void acl_list_write(struct strbuf *b, const struct acl_list *l);

/* A vector<ustring> likewise. */
struct string_list {
    int32_t count; /* -1: null */
    struct bytes elements;
};
struct string_list string_list_read(struct jute_reader *r);
void string_list_write(struct strbuf *b, const struct string_list *l);

/* A vector<Id>, and vector<ClientInfo>, which looks the same. */
struct id_entry {
    struct bytes scheme;
    struct bytes id;
};
struct id_list {
    int32_t count; /* -1: null */
    struct bytes elements;
};
struct id_list id_list_read(struct jute_reader *r);
void id_list_write(struct strbuf *b, const struct id_list *l);
struct id_entry id_entry_read(struct jute_reader *r);
void id_entry_write(struct strbuf *b, const struct id_entry *e);

#endif
