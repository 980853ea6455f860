/* SPDX-License-Identifier: Apache-2.0 */
/* json.c - jansson in libpawl.so: loaded when service discovery first reads or writes an instance.
 *
 * The functions of it that the recipes call, under their own names and seen by this library only.
 * Without jansson no text is JSON, and discovery reports that. */
#include <dlfcn.h>
#include <jansson.h>
#include <pthread.h>

#define JANSSON_FILE "libjansson.so.4"

static struct {
    json_t *(*loadb)(const char *, size_t, size_t, json_error_t *);
    json_t *(*loads)(const char *, size_t, json_error_t *);
    char *(*dumps)(const json_t *, size_t);
    void (*delete)(json_t *);
    json_t *(*object_get)(const json_t *, const char *);
    size_t (*array_size)(const json_t *);
    json_t *(*array_get)(const json_t *, size_t);
    const char *(*string_value)(const json_t *);
    json_int_t (*integer_value)(const json_t *);
} jansson;

/* Conversions of object pointers to functions are POSIX's; through void ** they are ISO C's, too.
 */
#define FIND(name) (*(void **)&jansson.name = dlsym(file, "json_" #name))

static void jansson_load(void)
{
    void *file = dlopen(JANSSON_FILE, RTLD_NOW | RTLD_LOCAL);

    if (file == NULL) {
        return;
    }
    FIND(delete);
    FIND(dumps);
    FIND(object_get);
    FIND(array_size);
    FIND(array_get);
    FIND(string_value);
    FIND(integer_value);
    FIND(loads);
    FIND(loadb);
}

static int jansson_is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, jansson_load);
    return jansson.loadb != NULL;
}

/* Values come from these two; who has one has the rest. */
json_t *json_loadb(const char *text, size_t len, size_t flags, json_error_t *error)
{
    return jansson_is_there() ? jansson.loadb(text, len, flags, error) : NULL;
}

json_t *json_loads(const char *text, size_t flags, json_error_t *error)
{
    return jansson_is_there() ? jansson.loads(text, flags, error) : NULL;
}

char *json_dumps(const json_t *json, size_t flags)
{
    return jansson.dumps(json, flags);
}

void json_delete(json_t *json)
{
    jansson.delete(json);
}

json_t *json_object_get(const json_t *object, const char *key)
{
    return jansson.object_get(object, key);
}

size_t json_array_size(const json_t *array)
{
    return jansson.array_size(array);
}

json_t *json_array_get(const json_t *array, size_t index)
{
    return jansson.array_get(array, index);
}

const char *json_string_value(const json_t *string)
{
    return jansson.string_value(string);
}

json_int_t json_integer_value(const json_t *integer)
{
    return jansson.integer_value(integer);
}
