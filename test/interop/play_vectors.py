#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plays test/vectors/client.txt against a live server, byte for byte.

    play_vectors.py --server apache|pawld

The grammar of the file stands at its top. Each script runs on a fresh server. Cases that were
recorded only from a newer server than the one tested are skipped: Apache here is 3.8.0, pawld
answers like 3.9.5. The value tables of the file are tried on the live server as well.
"""
import argparse
import os
import re
import shlex
import socket
import sys

import servers
import zkwire as zk

VECTORS = os.path.join(servers.REPO, "test", "vectors", "client.txt")
VERSION = {"apache": (3, 8, 0), "pawld": (3, 9, 5)}
SCRIPT_CONFIG = {"newer": {"extendedTypesEnabled": "true"}}
QUIET_SECONDS = 0.25  # what the grammar means by "none"
ANSWER_SECONDS = 60.0

# The header zxid of the answer to an undecodable write, which the file leaves open: 3.8 takes a
# zxid for it, 3.9 does not.
MARSHALLING_ZXID = {(3, 8): 0x23, (3, 9): 0x22}

FIELD = re.compile(r"\{(\w+):(\d+)(?:\|([0-9a-f]+))?\}")


class Failure(Exception):
    pass


# -- the file -------------------------------------------------------------------------------------

class Case:
    def __init__(self, name):
        self.name, self.versions, self.steps = name, [], []


def parse(path):
    """Returns (scripts, tables): name -> cases, and name -> rows of words."""
    scripts, tables, cases, rows = {}, {}, None, None
    with open(path) as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            word, _, rest = line.partition(" ")
            if word == "script:":
                cases = scripts.setdefault(rest.split()[0], [])
            elif word == "case:":
                cases.append(Case(rest))
            elif word == "server:":
                cases[-1].versions = [version_tuple(v) for v in re.findall(r"\d+\.\d+\.\d+", rest)]
            elif word == "table:":
                rows = tables.setdefault(rest.split()[0], [])
            elif word == "|":
                rows.append(shlex.split(rest))
            elif word[-1] in "<>":
                cases[-1].steps.append((word[:-1], word[-1], rest))
            elif word != "note:":
                raise SystemExit("%s: cannot read line: %s" % (path, line))
    return scripts, tables


def version_tuple(text):
    return tuple(int(part) for part in text.split("."))


# -- scripts --------------------------------------------------------------------------------------

class Player:
    """Plays the cases of one script; connections and bound names last for the script."""

    def __init__(self, port, version):
        self.port, self.version = port, version
        self.conns, self.bound = {}, {"mz": None}
        expected = MARSHALLING_ZXID[version[:2]]
        self.bound["mz"] = expected.to_bytes(8, "big")

    def step(self, name, direction, what):
        if what == "open":
            self.conns[name] = socket.create_connection(("127.0.0.1", self.port), ANSWER_SECONDS)
        elif direction == ">":
            self.conns[name].sendall(self.fill_in(what))
        elif what == "close":
            self.expect_close(name)
        elif what == "none":
            self.expect_none(name)
        else:
            self.expect_bytes(name, what)

    def fill_in(self, text):
        return bytes.fromhex(FIELD.sub(lambda m: self.bound[m.group(1)].hex(), text))

    def expect_close(self, name):
        data = self.receive(name, 1)
        if data:
            raise Failure("%s: close expected, got %s" % (name, data.hex()))

    def expect_none(self, name):
        sock = self.conns[name]
        sock.settimeout(QUIET_SECONDS)
        try:
            data = sock.recv(4096)
            raise Failure("%s: silence expected, got %s" % (name, data.hex() or "close"))
        except socket.timeout:
            sock.settimeout(ANSWER_SECONDS)

    def receive(self, name, n):
        """Up to n bytes; fewer when the server closes."""
        data = b""
        while len(data) < n:
            try:
                part = self.conns[name].recv(n - len(data))
            except ConnectionError:
                break
            except socket.timeout:
                raise Failure("%s: timeout after %s" % (name, data.hex() or "nothing")) from None
            if not part:
                break
            data += part
        return data

    def expect_bytes(self, name, pattern):
        parts = self.pattern_parts(pattern)
        got = self.receive(name, sum(size for _, size, _ in parts))
        at = 0
        for field, size, literal in parts:
            piece, at = got[at:at + size], at + size
            want = literal if literal is not None else self.bound.setdefault(field, piece)
            if piece != want or len(piece) != size:
                raise Failure("%s: at byte %d expected %s, got %s\n    expected %s\n    got      %s"
                              % (name, at - size, want.hex(), piece.hex(), pattern, got.hex()))

    def pattern_parts(self, pattern):
        """[(field name, length, literal bytes or None)]"""
        parts, at = [], 0
        for m in FIELD.finditer(pattern):
            parts.append(("", (m.start() - at) // 2, bytes.fromhex(pattern[at:m.start()])))
            size, at = int(m.group(2)), m.end()
            if m.group(3) is None:
                parts.append((m.group(1), size, None))
            else:  # {ev:8|...}: an event header carries the zxid only since 3.9
                old = b"\xff" * size
                parts.append(("", size, bytes.fromhex(m.group(3)) if self.version >= (3, 9)
                              else old))
        parts.append(("", (len(pattern) - at) // 2, bytes.fromhex(pattern[at:])))
        return parts

    def close(self):
        for sock in self.conns.values():
            sock.close()


def play_script(kind, name, cases, report):
    version = VERSION[kind]
    wanted = [case for case in cases if any(v <= version for v in case.versions)]
    report.skipped += len(cases) - len(wanted)
    if not wanted:
        return
    with servers.make(kind, config=SCRIPT_CONFIG.get(name)) as server:
        player = Player(server.port, version)
        try:
            for case in wanted:
                for step in case.steps:
                    player.step(*step)
                report.passed += 1
        except (Failure, OSError) as e:
            # Later cases depend on this one.
            report.failures.append("script %s, case %s: %s" % (name, case.name, e))
        finally:
            player.close()


# -- tables ---------------------------------------------------------------------------------------

def connect(port, **kwargs):
    conn = zk.Conn(port, timeout=ANSWER_SECONDS)
    conn.answer = conn.handshake(**kwargs)
    return conn


def check(report, what, got, want):
    if got == want:
        report.passed += 1
    else:
        report.failures.append("%s: got %r, recorded %r" % (what, got, want))


def create(conn, path, flags=0, acl=None, ttl=None):
    op = zk.CREATE if ttl is None else zk.CREATE_TTL
    reply, _ = conn.call(op, {"path": path, "data": b"", "acl": acl or zk.WORLD_ALL,
                              "flags": flags, "ttl": ttl})
    return reply


def table_path_check(port, rows, report):
    conn = connect(port)
    create(conn, "/t")
    for row in rows:
        path = b"" if row[0] == "-" else bytes.fromhex(row[0])
        got = [create(conn, path, 0).err, create(conn, path, 2).err,
               conn.call(zk.SET_DATA, {"path": path, "data": b"", "version": -1})[0].err,
               conn.call(zk.EXISTS, {"path": path, "watch": False})[0].err]
        check(report, "path-check %s" % row[0], got, [int(code) for code in row[1:5]])
    conn.close()


def table_timeout_negotiation(port, rows, report):
    for requested, granted in rows:
        conn = connect(port, timeout_ms=int(requested))
        check(report, "timeout %s" % requested, conn.answer["timeOut"], int(granted))
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()


def table_digest_id(port, rows, report):
    for i, (credentials, id) in enumerate(rows):
        conn = connect(port)
        conn.call(zk.AUTH, {"type": 0, "scheme": "digest", "auth": credentials.encode()})
        path = "/digest%d" % i
        create(conn, path, acl=[zk.acl(31, "auth", "")])
        reply, _ = conn.call(zk.GET_ACL, {"path": path})
        check(report, "digest-id %r" % credentials, reply.body and reply.body["acl"],
              [zk.acl(31, "digest", id)])
        conn.close()


def table_ttl_invalid(port, rows, report):
    conn = connect(port)
    for (ttl,) in rows:
        for flags in (5, 6):
            check(report, "ttl %s flags %d" % (ttl, flags),
                  create(conn, "/ttl", flags, ttl=int(ttl)).err, zk.BAD_ARGUMENTS)
    conn.close()


def table_session_password(port, rows, report):
    for session_id, password in rows:
        check(report, "password of %s" % session_id, session_password(int(session_id, 16)).hex(),
              password)
    conn = connect(port)
    check(report, "password of a live session", conn.passwd, session_password(conn.session_id))
    conn.close()


def session_password(session_id):
    """java.util.Random seeded by the session id; a checksum every server can compute."""
    seed, out = (session_id ^ 0xB3415C00 ^ 0x5DEECE66D) & (1 << 48) - 1, b""
    for _ in range(4):
        seed = (seed * 0x5DEECE66D + 0xB) & (1 << 48) - 1
        out += (seed >> 16).to_bytes(4, "little")
    return out


TABLES = {"path-check": table_path_check, "timeout-negotiation": table_timeout_negotiation,
          "digest-id": table_digest_id, "ttl-invalid": table_ttl_invalid,
          "session-password": table_session_password}


def play_tables(kind, tables, report):
    for name, play in TABLES.items():
        with servers.make(kind, config={"extendedTypesEnabled": "true"}) as server:
            try:
                play(server.port, tables[name], report)
            except (zk.Closed, zk.Timeout, zk.Malformed, OSError) as e:
                report.failures.append("table %s: %r" % (name, e))


class Report:
    def __init__(self):
        self.passed, self.skipped, self.failures = 0, 0, []


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), default="pawld")
    args = parser.parse_args()
    scripts, tables = parse(VECTORS)
    report = Report()
    for name, cases in scripts.items():
        play_script(args.server, name, cases, report)
    play_tables(args.server, tables, report)
    for failure in report.failures:
        print("FAIL", failure)
    print("%s: %d passed, %d failed, %d skipped (recorded from a newer server only)"
          % (args.server, report.passed, len(report.failures), report.skipped))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
