/* SPDX-License-Identifier: Apache-2.0 */
/* distinguished_name.h - "CN=a,OU=b,O=c": the id of an ACL of the scheme x509. */
#ifndef PAWL_SERVER_DISTINGUISHED_NAME_H
#define PAWL_SERVER_DISTINGUISHED_NAME_H

#include <stdbool.h>

#include "base/bytes.h"

/* Whether `text` is one, in RFC 2253's or 1779's way to write it. "" is the name without parts. */
bool distinguished_name_is_valid(struct bytes text);

#endif
