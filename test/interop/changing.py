# SPDX-License-Identifier: Apache-2.0
"""Ensembles whose members change while they run: what the tests of that share.

    with Changing("ppa") as e:
        e.start()
        text = e.reconfig(joining=e.make("p").line())
        e.wait_in_force(text)

A member keeps the zoo.cfg that it has rewritten. The list of members is what clients are told, `text`; it ends
with its version, and is compared without regard to the order of its lines.
"""
import contextlib
import os
import re
import shutil
import tempfile

import ensemble
import servers
import zkwire as zk
from patience import wait_until

SECONDS = 300
VERSION = re.compile(r"(?<=version=)[0-9a-f]+|(?<=dynamic\.)[0-9a-f]+\b")
CONFIG = dict(ensemble.BASE_CONFIG, reconfigEnabled="true", skipACL="yes")


def version_of(text):
    return text.rsplit("version=", 1)[1]


def members_of(text):
    return sorted(line for line in text.split("\n") if not line.startswith("version="))


def number_of(line):
    return int(line.split("=", 1)[0].rsplit(".", 1)[1])


class Keeping:
    """Mixed into a member: what it has made of its zoo.cfg stays."""

    def write_config(self):
        if not os.path.exists(self.cfg_path):
            super().write_config()

    def line(self, **changes):
        """Its line in the list; `changes` as in server.N=host:quorum:election:role;host:client."""
        return "server.%d=%s" % (self.number, self.entry(**changes))

    def entry(self, role=None, quorum=None, election=None, client=None):
        return "127.0.0.1:%d:%d:%s;127.0.0.1:%d" % (
            quorum or self.ports[0], election or self.ports[1],
            role or ("observer" if self.is_observer else "participant"), client or self.port)

    def file(self, suffix=""):
        """The text of zoo.cfg or of one beside it; None: there is none."""
        try:
            with open(self.cfg_path + suffix) as f:
                return f.read()
        except FileNotFoundError:
            return None

    def client_is_at(self, port):
        self.port = self.fixed_port = port


class KeepingApache(Keeping, ensemble.ApacheMember):
    pass


class KeepingPawl(Keeping, ensemble.PawlMember):
    pass


KINDS = {"a": KeepingApache, "p": KeepingPawl}


class Changing:
    def __init__(self, kinds, config=None):
        self.dir = tempfile.mkdtemp(prefix="zk-changing-")
        self.config = dict(CONFIG, **(config or {}))
        self.members = []  # all that were ever made
        for letter in kinds:
            self.make(letter)
        ensemble.tell_each_other(self.members)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for m in self.members:
            m.close()
        if kind is None:
            shutil.rmtree(self.dir, ignore_errors=True)
        else:
            print("logs in " + self.dir, flush=True)

    def make(self, letter, number=None, among=()):
        """One more, that is in nobody's list yet but in its own, where those `among` are, too."""
        number = number or 1 + max([m.number for m in self.members], default=0)
        member = KINDS[letter.lower()](number, self.dir, dict(self.config))
        member.is_observer = letter.isupper()
        if member.is_observer:
            member.config["peerType"] = "observer"
        for m in list(among) + [member]:
            member.config["server.%d" % m.number] = m.entry()
        self.members.append(member)
        return member

    # -- life ----------------------------------------------------------------------------------

    def alive(self):
        return [m for m in self.members if m.running()]

    def start(self, *members):
        """Those, or all; until they serve."""
        for m in members or self.members:
            m.start(wait=False)
        self.wait_serving(*members or self.members)

    def wait_serving(self, *members):
        def serve():
            for m in members:
                if not m.running():
                    raise m.error("member %d has ended" % m.number)
            return all(m.mode() in ("leader", "follower", "observer") for m in members)
        wait_until(serve, "members %s" % [m.number for m in members], SECONDS)
        self.leader()

    def leader(self):
        return wait_until(lambda: next((m for m in self.alive() if m.mode() == "leader"), None), "a leader",
                          SECONDS)

    def followers(self):
        leader = self.leader()
        return [m for m in self.alive() if m is not leader and m.mode() == "follower"]

    def wait_mode(self, member, mode):
        wait_until(lambda: member.mode() == mode, "member %d as %s" % (member.number, mode), SECONDS)

    # -- clients -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def client(self, member=None):
        conn = wait_until(lambda: self.try_client(member or self.leader()), "a client", SECONDS)
        try:
            yield conn
            self.end_session(conn)
        finally:
            conn.close()

    @staticmethod
    def end_session(conn):
        try:
            conn.call(zk.CLOSE_SESSION, {})
        except (zk.Closed, zk.Timeout):
            pass  # its role has ended

    def try_client(self, member):
        """None: it does not serve just now."""
        conn = None
        try:
            conn = zk.Conn(member.port, timeout=60.0)
            conn.handshake(30000)
            return conn
        except (zk.Closed, zk.Timeout, OSError):
            if conn is not None:
                conn.close()
            return None

    def ask(self, member=None, **request):
        """(error, text) of one reconfig through that member; None: the connection was lost."""
        body = dict({"joining": None, "leaving": None, "members": None, "curConfigId": -1}, **request)
        with self.client(member) as conn:
            try:
                reply, _ = conn.call(zk.RECONFIG, body)
            except (zk.Closed, zk.Timeout):
                return None
            return reply.err, (reply.body["data"].decode() if reply.err == 0 else None)

    def reconfig(self, member=None, **request):
        """The new list. One change at a time, and its quorum has to be there: until both are so it is asked
        again. A connection that was lost on the way leaves open what came of it; then the list tells."""
        before = version_of(self.text())

        def changed():
            answer = self.ask(member, **request)
            if answer is None:
                text = self.text()
                return text if version_of(text) != before else None
            if answer[0] in (-13, -14):
                return None
            assert answer[0] == 0, answer
            return answer[1]
        return wait_until(changed, "reconfig %s" % request, SECONDS)

    def text_at(self, member):
        conn = self.try_client(member)
        if conn is None:
            return None
        try:
            reply, _ = conn.call(zk.GET_DATA, {"path": "/zookeeper/config", "watch": False})
            return reply.body["data"].decode() if reply.err == 0 else None
        except (zk.Closed, zk.Timeout):
            return None
        finally:
            conn.close()

    def text(self):
        return wait_until(lambda: self.text_at(self.leader()), "the list of members", SECONDS)

    # -- what is so ----------------------------------------------------------------------------

    def wait_in_force(self, text, members=None):
        """With all members, or those: in their trees and in their files."""
        for m in members or self.alive():
            wait_until(lambda: self.has(m, text), "the list %s at member %d, which has %s" % (
                version_of(text), m.number, self.text_at(m)), SECONDS)

    def has(self, member, text):
        told = self.text_at(member)
        return (told is not None and version_of(told) == version_of(text)
                and members_of(told) == members_of(text) and self.files_have(member, text))

    def files_have(self, member, text):
        suffix = ".dynamic." + version_of(text)
        return (member.file(suffix) == "\n".join(members_of(text))
                and "dynamicConfigFile=" + os.path.realpath(member.dir) + "/zoo.cfg" + suffix
                in member.file().split("\n")
                and self.nothing_is_proposed(member, text))

    def nothing_is_proposed(self, member, text):
        """Apache's may leave a file of what is in force, when it was told of that in an election."""
        proposed = member.file(".dynamic.next")
        return proposed is None or (member.kind == "a" and "version=" + version_of(text) in proposed.split("\n"))

    def write_and_read(self, name, members=None):
        members = members or self.alive()
        for m in members:
            wait_until(lambda: self.try_write(m, "/%s-%d" % (name, m.number)), "a write at %d" % m.number, SECONDS)
        for m in members:
            for o in members:
                wait_until(lambda: self.try_read(m, "/%s-%d" % (name, o.number)), "a read at %d" % m.number, SECONDS)

    def try_write(self, member, path):
        conn = self.try_client(member)
        if conn is None:
            return False
        try:
            reply, _ = conn.call(zk.CREATE, {"path": path, "data": b"x", "acl": zk.WORLD_ALL, "flags": 0})
            return reply.err in (0, -110)
        except (zk.Closed, zk.Timeout):
            return False
        finally:
            conn.close()

    def try_read(self, member, path):
        conn = self.try_client(member)
        if conn is None:
            return False
        try:
            conn.call(zk.SYNC, {"path": "/"})
            reply, _ = conn.call(zk.EXISTS, {"path": path, "watch": False})
            return reply.err == 0
        except (zk.Closed, zk.Timeout):
            return False
        finally:
            conn.close()
