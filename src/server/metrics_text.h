/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.h - the metrics as the word `mntr` prints them. */
#ifndef PAWL_SERVER_METRICS_TEXT_H
#define PAWL_SERVER_METRICS_TEXT_H

#include "server/server.h"

/* "zk_<name>\t<value>\n" for all of metrics.def. */
void metrics_print(struct server *s, struct strbuf *out);

#endif
