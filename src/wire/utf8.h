/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h - strings that are not UTF-8, read as a Java server reads them.
 *
 * Java decodes leniently: what is malformed becomes U+FFFD. That character is forbidden in paths,
 * so such a path can be asked for but never exist; it is echoed and shown in events all the same.
 */
#ifndef PAWL_WIRE_UTF8_H
#define PAWL_WIRE_UTF8_H

#include "base/bytes.h"
#include "base/strbuf.h"

/* `b` itself when it is well formed (nearly always), otherwise its repaired form in `scratch`,
 * whose content is replaced. */
struct bytes utf8_repaired(struct bytes b, struct strbuf *scratch);

#endif
