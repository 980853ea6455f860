# SPDX-License-Identifier: Apache-2.0
"""Hosts of their own on one machine: network namespaces on a bridge, between which links are cut one way
or both.

    hosts.enter_own_network()      # the process has a network of its own from here on, or ends with 77
    net = hosts.Network(3)         # 10.77.0.1 to 10.77.0.3; this process is 10.77.0.254
    net.cut(1, 2)                  # what 1 sends to 2 is lost, silently
    net.heal()

A packet is lost by being sent to a hardware address that nobody has. Nothing of it is seen outside this
process, and all of it ends with it.
"""
import ctypes
import os
import subprocess
import sys

SKIP = 77
CLONE_NEWNET = 0x40000000
NOBODY = "02:77:00:00:ff:ff"
INSIDE = "PAWL_TEST_OWN_NETWORK"


def enter_own_network():
    """Starts this program again in a network of its own; the hub of what follows."""
    if os.environ.get(INSIDE):
        return
    try:
        subprocess.run(["unshare", "--net", "ip", "link", "add", "br0", "type", "bridge"], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print("skipped: no network namespaces here: %s" % (getattr(e, "stderr", b"") or e))
        sys.exit(SKIP)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "--net", sys.executable] + sys.argv)


def ip(*words, inside=()):
    subprocess.run(list(inside) + ["ip"] + [str(word) for word in words], check=True)


class Host:
    def __init__(self, number):
        self.number = number
        self.address = "10.77.0.%d" % number
        self.mac = "02:77:00:00:00:%02x" % number
        self.holder = subprocess.Popen(  # its namespace lasts as long as this does, and this as we do
            ["unshare", "--net", "setpriv", "--pdeathsig", "KILL", "sh", "-c", "echo up; exec sleep infinity"],
            stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.inside = ["nsenter", "--net=" + self.path()]
        ip("link", "add", "v%d" % number, "type", "veth", "peer", "name", "eth0", "address", self.mac,
           "netns", self.holder.pid)
        ip("link", "set", "v%d" % number, "master", "br0", "up")
        self.ip("link", "set", "lo", "up")
        self.ip("address", "add", self.address + "/24", "dev", "eth0")
        self.ip("link", "set", "eth0", "up")

    def path(self):
        return "/proc/%d/ns/net" % self.holder.pid

    def ip(self, *words):
        ip(*words, inside=self.inside)

    def send_to(self, other, mac):
        self.ip("neigh", "replace", other.address, "lladdr", mac, "dev", "eth0", "nud", "permanent")

    def enter(self):
        """The calling thread, and no other, is on this host from now on."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(self.path()) as f:
            if libc.setns(f.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def close(self):
        ip("link", "delete", "v%d" % self.number)  # its other end goes with it
        self.holder.kill()
        self.holder.wait()


class Network:
    def __init__(self, n):
        ip("link", "set", "lo", "up")
        ip("link", "add", "br0", "type", "bridge", "forward_delay", "0")
        ip("address", "add", "10.77.0.254/24", "dev", "br0")
        ip("link", "set", "br0", "up")
        self.hosts = [Host(i + 1) for i in range(n)]
        self.lost = set()
        for a in self.hosts:
            for b in self.hosts:
                if a is not b:
                    a.send_to(b, b.mac)

    def host(self, number):
        return self.hosts[number - 1]

    def cut(self, a, b):
        """What a sends to b, by their numbers, is lost."""
        self.host(a).send_to(self.host(b), NOBODY)
        self.lost.add((a, b))

    def part(self, ones, others):
        for a in ones:
            for b in others:
                self.cut(a, b)
                self.cut(b, a)

    def heal(self):
        for a, b in self.lost:
            self.host(a).send_to(self.host(b), self.host(b).mac)
        self.lost = set()

    def close(self):
        for host in self.hosts:
            host.close()
        ip("link", "delete", "br0")
