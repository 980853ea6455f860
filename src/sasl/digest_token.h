/* SPDX-License-Identifier: Apache-2.0 */
/* digest_token.h - what may be handed to the mechanism DIGEST-MD5 of cyrus-sasl: its parser loses
 * memory over names that are said twice (found by fuzzing), and who says them need not have
 * authenticated. */
#ifndef PAWL_SASL_DIGEST_TOKEN_H
#define PAWL_SASL_DIGEST_TOKEN_H

#include "base/bytes.h"

enum { DIGEST_TOKEN_BYTES = 4096 };

/* Whether it is a list of NAME=VALUE between commas, each name once (but `realm` may be offered
 * more often), and not too long. RFC 2831 demands all of that. */
bool digest_token_is_good(struct bytes token);

/* Whether the server's last word, "rspauth=...". */
bool digest_token_is_last(struct bytes token);

#endif
