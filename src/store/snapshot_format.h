/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot_format.h - a snapshot, byte by byte. All numbers big endian; a string is an int length
 * and its bytes.
 *
 *   header      int 0x5A4B534E "ZKSN" | int 2 | long -1
 *   sessions    int count | count x { long id | int timeout in ms }
 *   ACLs        int count | count x { long id | vector of ACLs }
 *   nodes       repeated { string path | buffer data | long ACL id | stored Stat, 60 bytes }
 *   end         string "/"
 *   seal        long Adler-32 of all before | string "/"
 *   digest      long zxid | int version 2 | long digest of the tree             from 3.6 on
 *   seal        as above, over everything so far, the first seal included
 *   last zxid   long                                                            from 3.9 on
 *   seal
 *
 * The root's path is "" here, and comes first; a node comes after its parent. ACL id -1 is the open
 * ACL. The digest section is always there: without it a reader of 3.6 would take the last zxid for
 * one. Compressed files hold exactly this stream; the sums are over the uncompressed bytes. */
#ifndef PAWL_STORE_SNAPSHOT_FORMAT_H
#define PAWL_STORE_SNAPSHOT_FORMAT_H

#define SNAPSHOT_MAGIC  0x5A4B534Eu
#define SNAPSHOT_PREFIX "snapshot"

/* Before it is whole, a snapshot has a name that no server takes for one. */
#define SNAPSHOT_TEMPORARY "tmp.snapshot."

enum {
    SNAPSHOT_VERSION = 2,
    SNAPSHOT_DIGEST_VERSION = 2,
    SNAPSHOT_OPEN_ACL = -1,
    SNAPPY_HEADER_BYTES = 16,   /* magic, version, compatible version */
    SNAPPY_BLOCK_BYTES = 32768, /* uncompressed */
};

#define SNAPPY_MAGIC "\x82SNAPPY"

enum snapshot_codec { SNAPSHOT_PLAIN, SNAPSHOT_GZIP, SNAPSHOT_SNAPPY };

/* By the last part of the name: ".gz", ".snappy", anything else is plain. */
enum snapshot_codec snapshot_codec_of(const char *name);

/* The end of the name for a codec: "", ".gz", ".snappy". */
const char *snapshot_extension(enum snapshot_codec codec);

#endif
