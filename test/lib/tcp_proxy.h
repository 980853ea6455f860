/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_proxy.h - a link that can be cut, frozen or made one-way, between a client and a server on
 * 127.0.0.1. It runs on a thread of its own. */
#ifndef PAWL_TEST_TCP_PROXY_H
#define PAWL_TEST_TCP_PROXY_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_proxy;

struct tcp_proxy *tcp_proxy_new(int target_port);
void tcp_proxy_free(struct tcp_proxy *p);
int tcp_proxy_port(const struct tcp_proxy *p);
const char *tcp_proxy_address(const struct tcp_proxy *p); /* 127.0.0.1:PORT */

/* Every order below has been carried out when it returns. */

/* Closes every link there is; what was held is lost. */
void tcp_proxy_cut(struct tcp_proxy *p);

/* Whether new links are taken; while not, they are closed at once. */
void tcp_proxy_accept(struct tcp_proxy *p, bool yes);

/* While frozen nothing moves in either direction; links stay open. */
void tcp_proxy_freeze(struct tcp_proxy *p, bool yes);

/* What the server says is thrown away; what the client says still arrives. */
void tcp_proxy_swallow_replies(struct tcp_proxy *p, bool yes);

/* What the server says is kept back until this ends; the server goes on as if nothing were wrong.
 */
void tcp_proxy_hold_replies(struct tcp_proxy *p, bool yes);

/* Nothing more comes on the links there are; new ones are as usual. */
void tcp_proxy_mute(struct tcp_proxy *p);

/* Takes no new links and cuts those there are; takes them again, and holds nothing. */
void tcp_proxy_down(struct tcp_proxy *p);
void tcp_proxy_up(struct tcp_proxy *p);

int tcp_proxy_links(struct tcp_proxy *p);      /* accepted so far */
int tcp_proxy_open_links(struct tcp_proxy *p); /* now */
int64_t tcp_proxy_bytes_to_server(struct tcp_proxy *p);

#endif
