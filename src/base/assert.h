/* SPDX-License-Identifier: Apache-2.0 */
/* assert.h - checks of what we believe.
 *
 * ASSERT stays on in release builds: a replica that goes on with a broken invariant is worse than
 * one that stops. DASSERT is for checks too dear for that. */
#ifndef PAWL_BASE_ASSERT_H
#define PAWL_BASE_ASSERT_H

/* Prints the expression and its place, with the last logged lines, and aborts. */
_Noreturn void assert_failed(const char *expression, const char *file, int line);

#define ASSERT(expression) \
    (__builtin_expect(!(expression), 0) ? assert_failed(#expression, __FILE__, __LINE__) : (void)0)

#ifdef NDEBUG
#define DASSERT(expression) ((void)0)
#else
#define DASSERT(expression) ASSERT(expression)
#endif

#endif
