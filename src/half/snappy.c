/* SPDX-License-Identifier: Apache-2.0 */
/* snappy.c - libsnappy in `pawl`: loaded when a snapshot in that form is first met.
 *
 * It brings the library of C++ along, which would be most of what `pawl get` takes to start. The
 * functions of it that the store calls are here under their own names. Without libsnappy such
 * files cannot be read, and are reported as broken. */
#include <dlfcn.h>
#include <pthread.h>
#include <snappy-c.h>

#define SNAPPY_FILE "libsnappy.so.1"

static struct {
    snappy_status (*compress)(const char *, size_t, char *, size_t *);
    snappy_status (*uncompress)(const char *, size_t, char *, size_t *);
    snappy_status (*uncompressed_length)(const char *, size_t, size_t *);
    size_t (*max_compressed_length)(size_t);
} snappy;

/* Conversions of object pointers to functions are POSIX's; through void ** they are ISO C's, too.
 */
#define FIND(name) (*(void **)&snappy.name = dlsym(file, "snappy_" #name))

static void snappy_load(void)
{
    void *file = dlopen(SNAPPY_FILE, RTLD_NOW | RTLD_LOCAL);

    if (file == NULL) {
        return;
    }
    FIND(max_compressed_length);
    FIND(uncompressed_length);
    FIND(uncompress);
    FIND(compress);
}

static int snappy_is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, snappy_load);
    return snappy.compress != NULL;
}

snappy_status snappy_compress(const char *input, size_t len, char *out, size_t *out_len)
{
    return snappy_is_there() ? snappy.compress(input, len, out, out_len) : SNAPPY_INVALID_INPUT;
}

snappy_status snappy_uncompress(const char *input, size_t len, char *out, size_t *out_len)
{
    return snappy_is_there() ? snappy.uncompress(input, len, out, out_len) : SNAPPY_INVALID_INPUT;
}

snappy_status snappy_uncompressed_length(const char *input, size_t len, size_t *out)
{
    return snappy_is_there() ? snappy.uncompressed_length(input, len, out) : SNAPPY_INVALID_INPUT;
}

size_t snappy_max_compressed_length(size_t len)
{
    return snappy_is_there() ? snappy.max_compressed_length(len) : 32 + len + len / 6;
}
