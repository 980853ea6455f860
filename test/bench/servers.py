# SPDX-License-Identifier: Apache-2.0
"""The servers that are measured, alone and as ensembles of three, started and stopped alike."""

import os
import shutil
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

from patience import free_port  # noqa: E402
from process import ServerProcess  # noqa: E402

ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"
SLF4J_JAR = "/usr/share/java/slf4j-simple.jar"
START_SECONDS_MAX = 120
NEVER_SNAPSHOT = 2000000000


def receive(s, count):
    data = b""
    while len(data) < count:
        more = s.recv(count - len(data))
        if not more:
            raise ConnectionError("closed")
        data += more
    return data


def gives_sessions(port):
    """Whether a server on `port` hands out a session (which is closed again)."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as s:
            s.sendall(struct.pack(">iiqiqi17x", 45, 0, 0, 10000, 0, 16))
            receive(s, 41)
            s.sendall(struct.pack(">iii", 8, 1, -11))
            return True
    except OSError:
        return False


def ask(port, word="srvr"):
    """What a server answers to a four-letter word."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(word.encode())
        return b"".join(iter(lambda: s.recv(65536), b"")).decode()


class Server(ServerProcess):
    """One kind of server; start() runs it on a folder, stop() ends it. Both wait until it is so."""

    def __init__(self, folder, label=None):
        self.label = label or self.name
        super().__init__(os.path.join(folder, f"{self.label}.log"))
        self.folder = folder
        self.port = 0
        self.more_config = ""

    def command(self, data, port, snap_count):
        raise NotImplementedError

    def missing(self):
        """Why this server cannot run here, or None."""
        return None

    def start(self, data, snap_count=None):
        self.stop()
        self.port = free_port()
        os.makedirs(data, exist_ok=True)
        self.spawn(self.command(data, self.port, snap_count))
        self.wait_serving()

    def wait_serving(self):
        deadline = time.monotonic() + START_SECONDS_MAX
        while not gives_sessions(self.port):
            if not self.running() or time.monotonic() > deadline:
                self.kill9()
                raise self.error("did not start")
            time.sleep(0.02)

    def stop(self):
        self.terminate()

    def fresh_data(self, label):
        """An empty data folder of that name; what an earlier run left in it is removed."""
        path = os.path.join(self.folder, f"{self.label}-{label}")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def write_config(self, data, port, snap_count):
        """The same zoo.cfg for whoever reads one."""
        path = os.path.join(self.folder, f"{self.label}.cfg")
        with open(path, "w") as f:
            f.write(f"tickTime=2000\ndataDir={data}\nclientPort={port}\n"
                    "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n")
            if snap_count is not None:
                f.write(f"snapCount={snap_count}\n")
            f.write(self.more_config)
        return path


class Apache(Server):
    name = "Apache"
    heap = "-Xmx4g"

    def missing(self):
        if shutil.which("java") is None or not os.path.exists(ZOOKEEPER_JAR):
            return "needs the Debian packages zookeeper and default-jre-headless"
        return None

    def command(self, data, port, snap_count):
        return ["java", self.heap, "-Dzookeeper.admin.enableServer=false",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                "-cp", f"{ZOOKEEPER_JAR}:{SLF4J_JAR}",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                self.write_config(data, port, snap_count)]


class ApacheMember(Apache):
    """Three of them share the machine."""
    heap = "-Xmx3g"


class Floor(Server):
    name = "floor"

    def __init__(self, folder, program, label=None):
        super().__init__(folder, label)
        self.program = program

    def command(self, data, port, snap_count):
        return [self.program, "--port", str(port), "--data", data]


class Pawld(Server):
    name = "pawld"

    def __init__(self, folder, program, label=None):
        super().__init__(folder, label)
        self.program = program

    def missing(self):
        if not os.access(self.program, os.X_OK):
            return f"{self.program} is not there"
        return None

    def command(self, data, port, snap_count):
        return [self.program, self.write_config(data, port, snap_count)]


class Ensemble:
    """Three servers of one kind that agree; to the load generator like one with several ports."""

    size = 3

    def __init__(self, folder, name, make):
        """`make(label)` makes one server."""
        self.folder, self.name = folder, name
        self.members = [make(f"{name}{i + 1}") for i in range(self.size)]
        self.data = None
        lines = "".join(f"server.{i + 1}=127.0.0.1:{free_port()}:{free_port()}\n"
                        for i in range(self.size))
        for member in self.members:
            member.port = free_port()
            member.more_config = f"initLimit=10\nsyncLimit=5\n{lines}"

    @property
    def port(self):
        return ",".join(str(member.port) for member in self.members)

    @property
    def pid(self):
        return ",".join(str(member.pid) for member in self.members)

    def missing(self):
        return self.members[0].missing()

    def running(self):
        return all(member.running() for member in self.members)

    def fresh_data(self, label):
        path = os.path.join(self.folder, f"{self.name}-three-{label}")
        shutil.rmtree(path, ignore_errors=True)
        for i in range(self.size):
            os.makedirs(os.path.join(path, str(i + 1)))
            with open(os.path.join(path, str(i + 1), "myid"), "w") as f:
                f.write(f"{i + 1}\n")
        return path

    def command(self, member):
        number = self.members.index(member) + 1
        return member.command(os.path.join(self.data, str(number)), member.port, None)

    def spawn(self, data):
        """All of them, without waiting."""
        self.stop()
        self.data = data
        for member in self.members:
            member.spawn(self.command(member))

    def start(self, data):
        self.spawn(data)
        self.wait()

    def start_again(self, member):
        """One that had ended, and waits until all serve."""
        member.spawn(self.command(member))
        self.wait()

    def wait(self):
        for member in self.members:
            member.wait_serving()

    def stop(self):
        for member in self.members:
            if member.running():
                member.signal(signal.SIGTERM)
        for member in self.members:
            member.stop()

    def leader(self):
        return next(member for member in self.members if "Mode: leader" in ask(member.port))

    def follower(self):
        return next(member for member in self.members if "Mode: follower" in ask(member.port))
