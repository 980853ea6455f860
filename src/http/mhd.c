/* SPDX-License-Identifier: Apache-2.0 */
#define MHD_AS_IT_IS
#include "http/mhd.h"

#include <dlfcn.h>
#include <string.h>

#define MHD_FILE "libmicrohttpd.so.12"

struct mhd mhd;

/* A pointer to a function, which ISO C does not convert from one to data. */
static bool find(void *library, const char *name, void *out, size_t size)
{
    void *found = dlsym(library, name);

    memcpy(out, &found, size);
    return found != NULL;
}

bool mhd_load(const char **why)
{
    void *library = dlopen(MHD_FILE, RTLD_NOW | RTLD_LOCAL);
    bool good = library != NULL;

#define MHD_FIND(name) good = good && find(library, "MHD_" #name, &mhd.name, sizeof(mhd.name));
    MHD_FUNCTIONS(MHD_FIND)
#undef MHD_FIND
    if (!good) {
        *why = dlerror();
    }
    return good;
}
