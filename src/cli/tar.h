/* SPDX-License-Identifier: Apache-2.0 */
/* tar.h - files and folders of a tar, each with one attribute.
 *
 * What is written is POSIX's pax form. The attribute is the extended attribute user.pawl.node, in
 * the record that GNU tar, star and libarchive have for those: `tar --xattrs` unpacks and packs it.
 * Long names of GNU tar are read, too. */
#ifndef PAWL_CLI_TAR_H
#define PAWL_CLI_TAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/types.h>

#include "base/strbuf.h"

struct tar_entry {
    const char *name; /* "a/b"; a folder's may end with a slash */
    bool is_folder;
    struct pawl_bytes data;
    struct pawl_bytes attribute; /* .data NULL: it has none */
    int64_t mtime_s;
};

void tar_write(FILE *to, const struct tar_entry *entry);
void tar_write_end(FILE *to);

/* A long file in pieces: this, `size` bytes by fwrite(), and tar_write_rest(). */
void tar_write_begin(FILE *to, const char *name, uint64_t size, int64_t mtime_s);
void tar_write_rest(FILE *to, uint64_t size);

struct tar_reader {
    FILE *file;
    size_t limit_bytes; /* of data */
    struct strbuf name, data, attribute, extended;
    int64_t given_size; /* from an extended header; -1: none */
    bool has_name, has_attribute;
};

void tar_reader_init(struct tar_reader *r, FILE *file, size_t limit_bytes);
void tar_reader_fini(struct tar_reader *r);

/* NULL: `*out` is the next entry, lent until the next call, or it was the last one: its name is
 * NULL. Otherwise what is wrong, in words. A tar without its end was cut off, and is wrong. */
const char *tar_read(struct tar_reader *r, struct tar_entry *out);

#endif
