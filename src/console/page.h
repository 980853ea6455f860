/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the files of the page, as cmake/embed.cmake has put them into the program. */
#ifndef PAWL_CONSOLE_PAGE_H
#define PAWL_CONSOLE_PAGE_H

#include "console/console.h"

extern const struct console_file page_files[]; /* ended by one without a URL */

#endif
