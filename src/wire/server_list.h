/* SPDX-License-Identifier: Apache-2.0 */
/* server_list.h - "a:2181,[::1]:2182,c/chroot", "zks://a:2281,b/chroot" or "unix:SOCKET": where the
 * servers of a client are. */
#ifndef PAWL_WIRE_SERVER_LIST_H
#define PAWL_WIRE_SERVER_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum { SERVER_DEFAULT_PORT = 2181, SERVER_DEFAULT_SECURE_PORT = 2281 };

/* In front of the list: all of them speak TLS. */
#define SERVER_SECURE "zks://"

struct server_place {
    char *name; /* a name or an address; of a Unix socket its path */
    int port;   /* 0: a Unix socket */
};

struct server_list {
    struct server_place *items; /* as they stand in the text */
    size_t n;
    char *chroot; /* "": none */
    bool is_secure;
};

/* BAD_ARGUMENTS or NO_MEMORY. */
int server_list_parse(const char *servers, struct server_list *out);
/* With `secure` for one who speaks nothing but TLS: as if zks:// were in front of the list, so that
 * there is no Unix socket in it. */
int server_list_parse_for(const char *servers, bool secure, struct server_list *out);
void server_list_fini(struct server_list *list);

/* What server_list_parse() does not like about `servers`, in words. */
void server_list_explain(const char *servers, char *out, size_t size);

#endif
