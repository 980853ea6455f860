/* SPDX-License-Identifier: Apache-2.0 */
/* queue_names.h - the names of a queue's nodes, and the order they stand for.
 *
 *   plain      queue-SEQ
 *   id         queue-|id|SEQ            '/' and '|' in the id are '_'
 *   priority   queue-1HHHHHHHHSEQ       1: not negative, 0: negative; the number's eight hex digits
 *   delay      queue-|HHHHHHHH|SEQ      milliseconds since 1970 in hex, at least eight digits
 *
 * SEQ is the server's: ten digits, or eleven characters once it is below zero. */
#ifndef PAWL_RECIPES_QUEUE_QUEUE_NAMES_H
#define PAWL_RECIPES_QUEUE_QUEUE_NAMES_H

#include "base/strbuf.h"
#include "pawl/queue.h"

#define QUEUE_PREFIX "queue-"

/* What is put in front of SEQ for this item. BAD_ARGUMENTS: an id is missing or impossible. */
int queue_name_write(struct strbuf *out, enum pawl_queue_kind kind, const struct pawl_put *put);

/* A node in a listing. */
struct queue_entry {
    char *name;
    uint64_t rank;   /* by which it is sorted first: priority, or time */
    int32_t place;   /* then: its number, counted from that of some node of the same listing */
    bool has_number; /* those without come last, by name */
};

/* Entries of all names that begin with `prefix`, in order. 0, or NO_MEMORY. */
int queue_entries_new(const char *prefix, enum pawl_queue_kind kind,
                      const struct pawl_strings *names, struct queue_entry **out, size_t *n);
void queue_entries_free(struct queue_entry *entries, size_t n);

/* The length of `name`, which begins with `prefix`, without SEQ. */
size_t queue_name_stem(const char *prefix, const char *name);

/* The id in `name`: its length is `*len`; NULL: none. */
const char *queue_name_id(const char *name, size_t *len);

/* Whether `name` is that of an item with this id. */
bool queue_name_has_id(const char *name, const char *id);

int32_t queue_name_priority(const char *name); /* 0 when there is none */
int64_t queue_name_due_ms(const char *name);   /* 0: at once */

#endif
