/* SPDX-License-Identifier: Apache-2.0 */
#include "console/page.h"

#include <string.h>

static const char *named(const char *url)
{
    return strcmp(url, "/console") == 0 || strcmp(url, "/console/") == 0 ? "/console/index.html"
                                                                         : url;
}

bool console_find_file(const char *url, struct console_file *out)
{
    for (const struct console_file *f = page_files; f->url != NULL; f++) {
        if (strcmp(f->url, named(url)) == 0) {
            *out = *f;
            return true;
        }
    }
    return false;
}
