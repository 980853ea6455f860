# SPDX-License-Identifier: Apache-2.0
"""The three servers that are measured, started and stopped alike."""

import os
import shutil
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

from patience import free_port  # noqa: E402
from process import ServerProcess  # noqa: E402

ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"
SLF4J_JAR = "/usr/share/java/slf4j-simple.jar"
START_SECONDS_MAX = 60
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


class Server(ServerProcess):
    """One kind of server; start() runs it on a folder, stop() ends it. Both wait until it is so."""

    def __init__(self, folder):
        super().__init__(os.path.join(folder, f"{self.name}.log"))
        self.folder = folder
        self.port = 0

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
        path = os.path.join(self.folder, f"{self.name}-{label}")
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def write_config(self, data, port, snap_count):
        """The same zoo.cfg for whoever reads one."""
        path = os.path.join(self.folder, f"{self.name}.cfg")
        with open(path, "w") as f:
            f.write(f"tickTime=2000\ndataDir={data}\nclientPort={port}\n"
                    "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n")
            if snap_count is not None:
                f.write(f"snapCount={snap_count}\n")
        return path


class Apache(Server):
    name = "Apache"

    def missing(self):
        if shutil.which("java") is None or not os.path.exists(ZOOKEEPER_JAR):
            return "needs the Debian packages zookeeper and default-jre-headless"
        return None

    def command(self, data, port, snap_count):
        return ["java", "-Xmx4g", "-Dzookeeper.admin.enableServer=false",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                "-cp", f"{ZOOKEEPER_JAR}:{SLF4J_JAR}",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                self.write_config(data, port, snap_count)]


class Floor(Server):
    name = "floor"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = program

    def command(self, data, port, snap_count):
        return [self.program, "--port", str(port), "--data", data]


class Pawld(Server):
    name = "pawld"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = program

    def missing(self):
        if not os.access(self.program, os.X_OK):
            return f"{self.program} is not there"
        return None

    def command(self, data, port, snap_count):
        return [self.program, self.write_config(data, port, snap_count)]
