#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same operations on Apache's server and on pawld, both with audit.enable=true: the audit lines are the same in
all fields that Apache's has, but for those that name a session or a user of the machine. What is known to differ
is said below."""
import re
import sys

import servers
import zkwire as z
from patience import wait_until

ACL = [z.acl(31, "world", "anyone")]
FIELDS = ("session", "user", "ip", "operation", "znode", "znode_type", "acl", "result")
OURS = ("zxid", "err", "identity", "address", "certificate")
LINE = re.compile(r"(INFO|ERROR).*audit\.Slf4jAuditLogger\S*[ :-]+(\S+=.*)$", re.M)


def play(port):
    """One of each kind, good and bad."""
    c = z.Conn(port)
    c.handshake(60000)

    def create(path, flags=0, op=z.CREATE, acl=None, **more):
        return c.call(op, dict({"path": path, "data": b"d", "acl": acl or ACL, "flags": flags}, **more))

    for path, flags in (("/a", 0), ("/a", 0), ("/e", 1), ("/s-", 2), ("/es-", 3), ("/no/parent", 0)):
        create(path, flags)
    create("/a2", 0, z.CREATE2)
    create("/c", 4, z.CREATE_CONTAINER)
    c.call(z.AUTH, {"type": 0, "scheme": "digest", "auth": b"bob:secret"}, xid=-4)
    c.call(z.SET_DATA, {"path": "/a", "data": b"x", "version": -1})
    c.call(z.SET_DATA, {"path": "/a", "data": b"x", "version": 9})
    c.call(z.SET_DATA, {"path": "/missing", "data": b"x", "version": -1})
    c.call(z.SET_ACL, {"path": "/a", "acl": [z.acl(1, "world", "anyone"), z.acl(31, "ip", "127.0.0.1")],
                       "version": -1})
    c.call(z.SET_ACL, {"path": "/missing", "acl": ACL, "version": -1})
    c.call(z.GET_DATA, {"path": "/a", "watch": False})
    c.call(z.DELETE, {"path": "/missing", "version": -1})
    c.call(z.DELETE, {"path": "/a2", "version": -1})
    multi(c, [(z.CREATE, {"path": "/m", "data": b"", "acl": ACL, "flags": 0}),
              (z.CHECK, {"path": "/m", "version": 0}),
              (z.SET_DATA, {"path": "/m", "data": b"1", "version": -1}),
              (z.DELETE, {"path": "/m", "version": -1})])
    multi(c, [(z.DELETE, {"path": "/missing", "version": -1})])
    c.call(z.CLOSE_SESSION, {})
    c.close()


def multi(c, operations):
    c.call(z.MULTI, {"ops": operations})


def lines(text):
    """Level and fields of each audit line, without what is another one on each run."""
    found = []
    for level, line in LINE.findall(text):
        fields = dict(part.split("=", 1) for part in line.split("\t"))
        known = {k: fields[k] for k in FIELDS if k in fields}
        assert set(fields) <= set(FIELDS + OURS), line
        assert list(fields)[:len(known)] == list(known), "the order of " + line
        if "session" in known:
            known["session"] = "0x"
        known["user"] = ",".join(sorted(known["user"].split(",")))
        found.append((level, tuple(known.items())))
    return found


def audit_of(server):
    with server:
        play(server.port)
        wait_until(lambda: len([x for x in lines(server.log_text()) if "ephemeral" in str(x)]) >= 4,
                   lambda: "the end of the session in\n" + server.log_text()[-3000:])
        server.stop()
        return lines(server.log_text())


def main():
    config = {"audit.enable": "true"}
    theirs = audit_of(servers.ApacheServer(config=config, keep=False))
    ours = audit_of(servers.PawlServer(config=config))
    # A hash set's order there.
    deleted = [[x for x in found if "DeletionOnSession" in str(x)] for found in (theirs, ours)]
    assert sorted(deleted[0]) == sorted(deleted[1]), deleted
    rest = [[x for x in found if "DeletionOnSession" not in str(x)] for found in (theirs, ours)]
    for a, b in zip(*rest):
        if a != b:
            sys.exit("Apache's: %s\nours:     %s" % (a, b))
    if len(rest[0]) != len(rest[1]):
        sys.exit("%d lines of Apache's, %d of ours:\n%s\n%s" % (
            len(rest[0]), len(rest[1]), "\n".join(map(str, rest[0])), "\n".join(map(str, rest[1]))))
    print("audit: passed, %d lines are the same" % len(ours))
    return 0


if __name__ == "__main__":
    sys.exit(main())
