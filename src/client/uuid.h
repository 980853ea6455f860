/* SPDX-License-Identifier: Apache-2.0 */
/* uuid.h - names that nobody else has. */
#ifndef PAWL_CLIENT_UUID_H
#define PAWL_CLIENT_UUID_H

struct engine;

enum { UUID_TEXT_BYTES = 37 }; /* with the terminating zero */

int uuid_text(struct engine *e, char out[UUID_TEXT_BYTES]); /* 0 or SYSTEM */

#endif
