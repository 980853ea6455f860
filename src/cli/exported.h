/* SPDX-License-Identifier: Apache-2.0 */
/* exported.h - a node on its way out: as a line of JSON, or as entries of a tar.
 *
 *   {"path":"/","data":"x","acl":[{"scheme":"world","id":"anyone","perms":"cdrwa"}],"sequence":7}
 *   {"path":"/below","data_base64":"/w==","acl":[...],"ttl_ms":60000}
 *   {"path":"/below/member","data":null,"acl":[...],"ephemeral":true}
 *
 * In a tar a node with children, or without data, is a folder, and any other one a file. The data
 * of a folder are in the file .data right behind it; a node that is really called .data has a ~
 * behind its name there, .data~ another one, and so on. All else of the line above is the attribute
 * of the file or folder. */
#ifndef PAWL_CLI_EXPORTED_H
#define PAWL_CLI_EXPORTED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <pawl/types.h>

#define TAR_DATA_NAME ".data"

struct exported {
    const char *path; /* below the top; "/": the top itself */
    struct pawl_bytes data;
    const struct pawl_acls *acls; /* NULL: left out */
    bool is_ephemeral, is_container, has_children;
    int64_t ttl_ms;   /* 0: none */
    int64_t sequence; /* the number of the next sequential child; 0: there was none yet */
    int64_t mtime_ms;
};

enum export_form { EXPORT_LINES, EXPORT_TAR };

/* On standard output; parents before their children. */
void exported_print(const struct exported *n, enum export_form form);

/* Behind the last one. A tar without this is known to be cut off. */
void exported_end(enum export_form form);

/* For tests. */
void exported_tar(const struct exported *n, FILE *to);

#endif
