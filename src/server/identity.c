/* SPDX-License-Identifier: Apache-2.0 */
#include "server/identity.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"
#include "base/memory.h"
#include "pawl/error.h"

/* Nobody is so many people; and whoever has ids is looked at for each of them. */
enum { MAX_IDS = 256, MAX_ID_BYTES = 64 << 10 };

void identity_check(const struct identity *i)
{
    ASSERT(i->n_ids <= MAX_IDS);
    ASSERT(i->n_in_force <= i->n_ids);
    ASSERT(i->super_from <= i->n_ids);
    ASSERT(i->cost >= 0);
    ASSERT(!i->is_server || i->n_ids == 0);
}

static bool has_id(const struct identity *i, const char *scheme, const char *id)
{
    struct list *item;

    list_for_each (item, &i->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (strcmp(a->scheme, scheme) == 0 && strcmp(a->id, id) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_room(const struct identity *i, const char *id)
{
    size_t n = 1, bytes = strlen(id);
    struct list *item;

    list_for_each (item, &i->ids) {
        n++;
        bytes += strlen(container_of(item, struct auth_id, link)->id);
    }
    return n <= MAX_IDS && bytes <= MAX_ID_BYTES;
}

static uint64_t hash_id(struct bytes id)
{
    return hash_bytes(id.data, id.len, 0);
}

/* An ACL may name thousands, and each of them is looked for. */
static void index_digest(struct identity *i, struct auth_id *a)
{
    if (i->digests.buckets == NULL) {
        map_init(&i->digests);
    }
    map_insert(&i->digests, &a->by_id, hash_id(bytes_str(a->id)));
}

static void note_scheme(struct identity *i, struct auth_id *a)
{
    if (strcmp(a->scheme, "digest") == 0) {
        index_digest(i, a);
    } else if (strcmp(a->scheme, "super") == 0 && i->super_from == 0) {
        i->super_from = i->n_ids;
    } else if (strcmp(a->scheme, "ip") == 0 && i->address == NULL) {
        i->address = a;
    }
}

int identity_add(struct identity *i, const char *scheme, const char *id)
{
    struct auth_id *a;

    ASSERT(!i->is_server);
    if (has_id(i, scheme, id)) {
        return PAWL_OK;
    }
    if (!has_room(i, id)) {
        return PAWL_ERR_AUTH_FAILED;
    }
    a = must_zalloc(sizeof(*a));
    a->scheme = must_strdup(scheme);
    a->id = must_strdup(id);
    a->rank = i->n_ids;
    list_push_back(&i->ids, &a->link);
    i->n_ids++;
    i->n_in_force = i->n_ids;
    note_scheme(i, a);
    identity_check(i);
    return PAWL_OK;
}

/* ---- life ---- */

void identity_init(struct identity *i, const char *ip)
{
    *i = (struct identity){.brought.count = -1};
    list_init(&i->ids);
    identity_add(i, "ip", ip);
}

void identity_init_forwarded(struct identity *i, struct id_list brought)
{
    *i = (struct identity){.brought = brought};
    list_init(&i->ids);
}

void identity_init_server(struct identity *i)
{
    *i = (struct identity){.is_server = true, .brought.count = -1};
    list_init(&i->ids);
}

void identity_fini(struct identity *i)
{
    struct list *item;

    if (i->digests.buckets != NULL) {
        map_fini(&i->digests);
    }
    while ((item = list_pop_front(&i->ids)) != NULL) {
        struct auth_id *a = container_of(item, struct auth_id, link);

        free(a->scheme);
        free(a->id);
        free(a);
    }
    free(i->memo);
}

/* ---- what was brought ---- */

/* A string with a zero in it is nobody's id. */
static char *copy_text(struct bytes text)
{
    char *copy;

    if (bytes_is_null(text) || (text.len > 0 && memchr(text.data, 0, text.len) != NULL)) {
        return NULL;
    }
    copy = must_alloc(text.len + 1);
    if (text.len > 0) {
        memcpy(copy, text.data, text.len);
    }
    copy[text.len] = '\0';
    return copy;
}

static void add_brought(struct identity *i, const struct id_entry *e)
{
    char *scheme = copy_text(e->scheme);
    char *id = copy_text(e->id);

    if (scheme != NULL && id != NULL) {
        identity_add(i, scheme, id); /* beyond the limit they give no permission */
    }
    free(scheme);
    free(id);
}

void identity_open(struct identity *i)
{
    struct id_list brought = i->brought;
    struct jute_reader r = jute_reader_of(brought.elements);

    i->brought.count = -1;
    for (int32_t n = 0; n < brought.count; n++) {
        struct id_entry e = id_entry_read(&r);

        if (r.failed) {
            return;
        }
        add_brought(i, &e);
    }
}

/* ---- questions ---- */

bool identity_has_digest(const struct identity *i, struct bytes wanted)
{
    struct map_entry *e;

    if (i->digests.count == 0 || wanted.len == 0) {
        return false;
    }
    for (e = map_first(&i->digests, hash_id(wanted)); e != NULL; e = map_next(e)) {
        const struct auth_id *a = container_of(e, struct auth_id, by_id);

        if (a->rank < i->n_in_force && bytes_equal_secret(wanted, bytes_str(a->id))) {
            return true;
        }
    }
    return false;
}

bool identity_has(const struct identity *i, const char *scheme, struct bytes wanted)
{
    struct list *item;

    list_for_each (item, &i->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        if (a->rank < i->n_in_force && strcmp(a->scheme, scheme) == 0 &&
            bytes_equal_str(wanted, a->id)) {
            return true;
        }
    }
    return false;
}

bool identity_has_scheme(const struct identity *i, const char *scheme)
{
    struct list *item;

    list_for_each (item, &i->ids) {
        if (strcmp(container_of(item, struct auth_id, link)->scheme, scheme) == 0) {
            return true;
        }
    }
    return false;
}

bool identity_may_everything(struct identity *i)
{
    if (i->is_server) {
        return true;
    }
    identity_open(i);
    return i->super_from != 0 && i->super_from <= i->n_in_force;
}

void identity_write(const struct identity *i, struct strbuf *out)
{
    struct list *item;

    ASSERT(!i->is_server);
    ASSERT(i->brought.count <= 0);
    jute_write_int(out, (int32_t)i->n_ids);
    list_for_each (item, &i->ids) {
        const struct auth_id *a = container_of(item, struct auth_id, link);

        id_entry_write(out, &(struct id_entry){bytes_str(a->scheme), bytes_str(a->id)});
    }
}
