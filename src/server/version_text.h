/* SPDX-License-Identifier: Apache-2.0 */
/* version_text.h - the version as the words print it: ZooKeeper's form, so that tools which compare
 * versions see a ZooKeeper of that release; who it really is stands where Apache has its commit. */
#ifndef PAWL_SERVER_VERSION_TEXT_H
#define PAWL_SERVER_VERSION_TEXT_H

#include "pawl/version.h"

#ifndef PAWL_BUILD_DATE /* the build may say otherwise; by itself two builds are the same bytes */
#define PAWL_BUILD_DATE "2026-11-15 00:00 UTC"
#endif

#define SERVER_VERSION_TEXT \
    PAWL_ZOOKEEPER_VERSION "-pawl." PAWL_VERSION ", built on " PAWL_BUILD_DATE

#endif
