# SPDX-License-Identifier: Apache-2.0
"""The whole tree of a server as a client sees it, and the comparison of two such trees.

A tree is {path: node}; a node is {"data": bytes or None, "acl": [text], and the fields of Stat}.
"""
import re

import zkwire as zk

SUPER = "super:secret"
SUPER_CONFIG = {"DigestAuthenticationProvider.superDigest": zk.digest_id(SUPER)}
MANY_UNDER_WAY = 200


def connect_super(port, timeout_ms=60000):
    """A session that may read and write everything, on a server started with SUPER_CONFIG."""
    conn = zk.Conn(port, timeout=30.0)
    conn.handshake(timeout_ms)
    auth = {"type": 0, "scheme": "digest", "auth": SUPER.encode()}
    reply, _ = conn.call(zk.AUTH, auth)
    assert reply.err == 0, reply
    return conn


def dump(port, leave_out=()):
    """The tree of the server on `port`, without the paths in `leave_out` and all below them."""
    conn = connect_super(port)
    tree = {}
    level = ["/"]
    while level:
        tree.update(dump_level(conn, level))
        level = [child for path in level for child in tree[path].pop("children")
                 if child not in leave_out]
    conn.end_session()
    return tree


def dump_level(conn, paths):
    nodes = {}
    for start in range(0, len(paths), MANY_UNDER_WAY):
        part = paths[start:start + MANY_UNDER_WAY]
        for path in part:
            conn.send(zk.GET_DATA, {"path": path, "watch": False})
            conn.send(zk.GET_ACL, {"path": path})
            conn.send(zk.GET_CHILDREN, {"path": path, "watch": False})
        for path in part:
            data, acl, children = (body_of(conn.recv(), path) for _ in range(3))
            nodes[path] = make_node(path, data, acl, children)
    return nodes


def body_of(reply, path):
    assert reply.err == 0, "%s: %r" % (path, reply)
    return reply.body


def make_node(path, data, acl, children):
    node = dict(data["stat"])
    assert acl["stat"] == data["stat"], "%s changed while it was read" % path
    node["data"] = data["data"]
    node["acl"] = ["%d:%s:%s" % (a["perms"], a["id"]["scheme"], a["id"]["id"]) for a in acl["acl"]]
    prefix = "" if path == "/" else path
    node["children"] = [prefix + "/" + name for name in sorted(children["children"])]
    return node


def differences(wanted, got, leave_out=()):
    """Lines that say where two trees differ; `leave_out`: paths that do not count, with all below."""
    lines = []
    for path in sorted(set(wanted) | set(got)):
        if any(path == top or path.startswith(top + "/") for top in leave_out):
            continue
        if path not in got:
            lines.append("%s is missing" % path)
        elif path not in wanted:
            lines.append("%s should not be there" % path)
        else:
            for field in sorted(wanted[path]):
                if wanted[path][field] != got[path][field]:
                    lines.append("%s: %s should be %r and is %r" % (
                        path, field, wanted[path][field], got[path][field]))
    return lines


# -- tree.txt of test/vectors/datadir ---------------------------------------------------------------

def read_tree_file(path):
    tree = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            key, _, value = line.rstrip("\n").strip().partition("=")
            if key == "path":
                node = tree[value] = {}
            elif key == "data":
                node["data"] = None if value == "null" else bytes.fromhex(value[len("hex:"):])
            elif key == "acl":
                node["acl"] = value.split(";")
            elif key == "czxid":
                for field, number in re.findall(r"(\w+)=(\S+)", line):
                    node[field] = int(number, 0)
    return tree
