/* SPDX-License-Identifier: Apache-2.0 */
/* api.h - the mark on every function that belongs to the interface of libpawl.
 *
 * Nothing else leaves the library: the shared one exports, and the static one has as global
 * symbols, only what carries it. */
#ifndef PAWL_API_H
#define PAWL_API_H

#if defined(__GNUC__)
#define PAWL_API __attribute__((visibility("default")))
#else
#define PAWL_API
#endif

/* Structs that you hand in begin with their size, so that a program built with an older header goes
 * on working; one without a size is BAD_ARGUMENTS. Each has a macro that sets it, and names the
 * fields that are not zero:
 *
 *     pawl_create(c, PAWL_CREATE(.path = "/a", .mode = PAWL_MODE_EPHEMERAL), NULL);
 *     pawl_lock_new(c, "/lock", PAWL_LOCK_OPTIONS(.permits = 3), &lock);
 *
 * and in C++, which has no such literals before C++20, a type in namespace pawl:
 *
 *     pawl::create request;
 *     request.path = "/a";
 *     request.mode = PAWL_MODE_EPHEMERAL;
 *     pawl_create(c, &request, NULL); */
#if defined(__cplusplus)
namespace pawl
{
template <typename T> struct sized : T {
    sized() : T()
    {
        this->size = sizeof(T);
    }
};
} // namespace pawl
#define PAWL_SIZED_TYPE(name)                 \
    namespace pawl                            \
    {                                         \
    typedef sized<struct ::pawl_##name> name; \
    }
#else
#define PAWL_SIZED(type, ...) (&(struct type){.size = sizeof(struct type), __VA_ARGS__})
#define PAWL_SIZED_TYPE(name)
#endif

#endif
