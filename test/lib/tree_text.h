/* SPDX-License-Identifier: Apache-2.0 */
/* tree_text.h - a tree as text, in the two forms of test/vectors/datadir. */
#ifndef PAWL_TEST_TREE_TEXT_H
#define PAWL_TEST_TREE_TEXT_H

#include "base/strbuf.h"

struct tree;

/* What a client reads, as tree.txt has it: every node by path, with data, ACL and Stat. */
void tree_text(const struct tree *t, struct strbuf *out);

/* What is stored, as persisted.txt has it below its first line: sessions, ACL lists, nodes. */
void tree_text_persisted(const struct tree *t, struct strbuf *out);

#endif
