/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - what clients and servers have to say, if anybody wants to hear it. */
#ifndef PAWL_LOG_H
#define PAWL_LOG_H

#include <pawl/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pawl_log_level { PAWL_LOG_ERROR = 0, PAWL_LOG_WARN, PAWL_LOG_INFO, PAWL_LOG_DEBUG };

/* One line, without a newline; lent until the function returns. Called from threads of the library,
 * several at once. It should be quick, as others wait meanwhile. */
typedef void (*pawl_log_fn)(enum pawl_log_level level, const char *line, void *arg);

/* One of those: writes "pawl: warning: LINE" to stderr. `arg` is not used. */
PAWL_API void pawl_log_stderr(enum pawl_log_level level, const char *line, void *arg);

#ifdef __cplusplus
}
#endif

#endif
