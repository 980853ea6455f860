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

#endif
