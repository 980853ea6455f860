#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A link is cut under somebody who watches for good, nodes change, and the link is back.

Java's client (zkCli.sh) and `pawl watch` hear from pawld what they missed, in order and before what is
newer. From Apache's server they do not; `pawl watch` says so: GAP.
"""
import os
import re
import socket
import subprocess
import sys
import threading

import servers
import zkcli
import zkwire as zk

MISSED = [("NodeCreated", "CREATED", "/a/x"), ("NodeDataChanged", "CHANGED", "/a/x"),
          ("NodeDeleted", "DELETED", "/a/x"), ("NodeCreated", "CREATED", "/a/y")]
LAST = ("NodeCreated", "CREATED", "/a/last")


class Way:
    """The way to a server, which can be cut: links are closed, and new ones refused."""

    def __init__(self, port):
        self.to = int(port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.is_cut = False
        self.socks = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.to))
                self.socks += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
        except OSError:
            pass
        self.shut([source, sink])

    def shut(self, socks):
        for sock in socks:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            self.is_cut = True
            self.shut(self.socks)
            self.socks = []

    def mend(self):
        with self.lock:
            self.is_cut = False


class Writer:
    def __init__(self, port):
        self.conn = zk.Conn(port)
        self.conn.handshake(timeout_ms=60000)

    def do(self, op, **fields):
        self.conn.send(op, fields)
        reply = self.conn.recv()
        assert reply.err == 0, reply

    def create(self, path):
        self.do(zk.CREATE, path=path, data=b"", acl=zk.WORLD_ALL, flags=0)

    def change(self):
        self.create("/a/x")
        self.do(zk.SET_DATA, path="/a/x", data=b"1", version=-1)
        self.do(zk.DELETE, path="/a/x", version=-1)
        self.create("/a/y")


def java_hears(server, way, writer):
    """The events that zkCli.sh printed, up to the last."""
    shell = zkcli.Shell(way.address)
    try:
        shell.run("addWatch -m PERSISTENT_RECURSIVE /a")
        way.cut()
        writer.change()
        way.mend()
        lines = shell.read_until("state:SyncConnected type:None")
        lines += shell.run("ls /")  # its watches are set again by then
        writer.create("/a/last")
        lines += shell.read_until("path:" + LAST[2])
        return [m.groups() for m in (re.search(r"type:(Node\w+) path:(\S+)", l) for l in lines) if m]
    finally:
        shell.process.kill()
        shell.process.wait()


def ours_hears(server, way, writer):
    """The same of `pawl watch`, and whether it said that there is a gap."""
    pawl = os.path.join(os.path.dirname(servers.make("pawld").binary), "pawl")
    program = subprocess.Popen([pawl, "-s", way.address, "watch", "/a"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    try:
        assert program.stdout.readline() == "WATCHING /a\n"
        way.cut()
        assert "the link is down" in program.stderr.readline()
        writer.change()
        way.mend()
        lines = []
        while "the link is back" not in (line := program.stderr.readline()):
            assert line != "", "pawl watch has ended"
        if server.name == "apache":  # behind the answer to setWatches2
            lines.append(program.stdout.readline().split())
        writer.create("/a/last")
        while (line := program.stdout.readline().split())[1] != LAST[2]:
            lines.append(line)
        return [tuple(line) for line in lines]
    finally:
        program.kill()
        program.wait()


def check(kind, who, hears, expected):
    with servers.make(kind) as server:
        writer, way = Writer(server.port), Way(server.port)
        writer.create("/a")
        heard = hears(server, way, writer)
        assert heard == expected, "%s on %s heard %r, not %r" % (who, kind, heard, expected)
        print("%s on %s: %r" % (who, kind, heard))
        server.end()


def main():
    check("pawld", "zkCli.sh", java_hears, [(java, path) for java, _, path in MISSED])
    check("apache", "zkCli.sh", java_hears, [])
    check("pawld", "pawl watch", ours_hears, [(ours, path) for _, ours, path in MISSED])
    check("apache", "pawl watch", ours_hears, [("GAP", "/a")])
    return 0


if __name__ == "__main__":
    sys.exit(main())
