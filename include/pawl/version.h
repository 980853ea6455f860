/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - which Pawl this is. */
#ifndef PAWL_VERSION_H
#define PAWL_VERSION_H

#define PAWL_VERSION_MAJOR 0
#define PAWL_VERSION_MINOR 1
#define PAWL_VERSION_PATCH 0
#define PAWL_VERSION       "0.1.0"

/* The release of Apache ZooKeeper whose behaviour the server follows; what clients and tools read
 * as the server's version. */
#define PAWL_ZOOKEEPER_VERSION "3.9.5"

#endif
