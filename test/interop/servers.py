# SPDX-License-Identifier: Apache-2.0
"""Start and stop a real server, Apache ZooKeeper's or pawld, on a folder and a free local port.

    with ApacheServer(config={"extendedTypesEnabled": "true"}) as server:
        talk_to(server.port)

`config` is written into zoo.cfg. What Java only takes as a system property goes on Java's command
line instead; pawld reads all of it from the file. A server may be stopped and started again on the
same folder; it then keeps its port.
"""
import os
import shutil
import signal
import socket
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "test", "lib"))

import secrets_of  # noqa: E402
from patience import free_port  # noqa: E402
from process import ServerProcess  # noqa: E402

JAR_FOLDER = "/usr/share/java"
# What the manifest of zookeeper.jar does not name, and its admin server needs.
ADMIN_JARS = tuple("jetty9-%s.jar" % part for part in ("server", "servlet", "util", "util-ajax", "http", "io",
                                                       "security"))
ADMIN_JARS += ("servlet-api.jar", "jackson-core.jar", "jackson-databind.jar", "jackson-annotations.jar")
# What TLS needs: all of it for clients, a part even for sockets without Netty (port unification).
NETTY = ["netty-%s.jar" % part for part in (
    "all", "buffer", "codec", "common", "handler", "resolver", "transport",
    "transport-native-epoll", "transport-native-unix-common")]
READY_SECONDS = 300

# Keys that Apache's parser of zoo.cfg knows by name. All others are system properties.
CFG_KEYS = {
    "dataDir", "dataLogDir", "clientPort", "clientPortAddress", "secureClientPort",
    "secureClientPortAddress", "tickTime", "initLimit", "syncLimit", "connectToLearnerMasterLimit",
    "minSessionTimeout", "maxSessionTimeout", "maxClientCnxns", "clientPortListenBacklog",
    "localSessionsEnabled", "localSessionsUpgradingEnabled", "electionAlg", "peerType",
    "syncEnabled", "dynamicConfigFile", "autopurge.snapRetainCount", "autopurge.purgeInterval",
    "standaloneEnabled", "reconfigEnabled", "sslQuorum", "portUnification",
    "sslQuorumReloadCertFiles", "quorumListenOnAllIPs", "quorum.cnxn.threads.size", "jvm.pause.monitor",
}
CFG_PREFIXES = ("server.", "group", "weight", "quorum.auth.", "metricsProvider.")

# System properties that Java reads without the "zookeeper." prefix.
BARE_PROPERTIES = ("jute.maxbuffer", "readonlymode.enabled", "znode.container.")

BASE_CONFIG = {
    "tickTime": "2000",
    "maxClientCnxns": "0",
    "admin.enableServer": "false",
    "4lw.commands.whitelist": "*",
}


class HostPort(int):
    """A port that is not on loopback: whoever connects to it finds its host here."""

    def __new__(cls, host, port):
        self = super().__new__(cls, port)
        self.host = host
        return self


def address_of(port):
    return getattr(port, "host", "127.0.0.1"), int(port)


def four_letter_word(port, word, timeout=60.0):
    """The text a server answers to a four-letter word ('' when it closes without a text)."""
    with socket.create_connection(address_of(port), timeout=timeout) as s:
        s.sendall(word.encode())
        parts = []
        while True:
            part = s.recv(65536)
            if not part:
                return b"".join(parts).decode(errors="replace")
            parts.append(part)


def is_cfg_key(key):
    return key in CFG_KEYS or key.startswith(CFG_PREFIXES)


def property_name(key):
    if key.startswith("zookeeper.") or key.startswith(BARE_PROPERTIES):
        return key
    return "zookeeper." + key


class Server(ServerProcess):
    """One server on a directory. `dir` holds zoo.cfg, data/ and server.log; it is removed by close() if it
    was made here and `keep` was not asked for."""

    def __init__(self, dir=None, config=None, port=None, keep=False):
        self.owns_dir = dir is None
        self.dir = dir or tempfile.mkdtemp(prefix="zk-%s-" % self.name)
        self.keep = keep
        self.config = dict(BASE_CONFIG)
        self.config.update({k: str(v) for k, v in (config or {}).items()})
        self.fixed_port = port
        self.port = port
        super().__init__(os.path.join(self.dir, "server.log"))
        os.makedirs(self.data_dir, exist_ok=True)

    # -- what the two kinds fill in ------------------------------------------------------------

    def command(self):
        raise NotImplementedError

    def file_settings(self):
        """The part of the configuration that belongs into zoo.cfg."""
        return self.config

    # -- life ----------------------------------------------------------------------------------

    @property
    def data_dir(self):
        return self.config.get("dataDir") or os.path.join(self.dir, "data")

    @property
    def host(self):
        return address_of(self.port)[0]

    @property
    def address(self):
        return "%s:%d" % (self.host, self.port)

    @property
    def connect_string(self):
        return self.address

    def start(self, wait=True):
        """Starts the process; with `wait`, returns when it answers clients."""
        assert not self.running()
        for attempt in range(3):
            if self.port is None:
                self.port = free_port()
            self.write_config()
            self.spawn(self.command(), cwd=self.dir)
            if not wait or self.try_ready(READY_SECONDS):
                return self
            log = self.log_text()
            self.kill9()
            if self.fixed_port is not None or "in use" not in log:
                break
            self.port = None
        raise self.error("did not start")

    def write_config(self):
        settings = {"dataDir": self.data_dir, "clientPort": "%d" % self.port,
                    "clientPortAddress": self.host}
        settings.update(self.file_settings())
        with open(self.cfg_path, "w") as f:
            for key, value in settings.items():
                f.write("%s=%s\n" % (key, value))

    @property
    def cfg_path(self):
        return os.path.join(self.dir, "zoo.cfg")

    def wait_ready(self, timeout=READY_SECONDS):
        if not self.try_ready(timeout):
            raise self.error("does not answer on port %s" % self.port)
        return self

    def try_ready(self, timeout):
        """True when `srvr` shows a mode, i.e. the server serves; False if it dies or time is up."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if not self.running():
                return False
            try:
                if "Mode:" in four_letter_word(self.port, "srvr", timeout=5.0):
                    return True
            except OSError:
                pass
            time.sleep(0.02)  # polling another process: there is nothing to wait on
        return False

    def stop(self):
        return self.terminate()

    def close(self):
        self.kill9()
        if self.owns_dir and not self.keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        if not self.running():
            self.start()
        return self

    def __exit__(self, *exc):
        self.close()


class ApacheServer(Server):
    """Apache ZooKeeper from Debian's package `zookeeper` (or libzookeeper-java)."""

    name = "apache"
    exit_code = 128 + signal.SIGTERM  # a JVM says so

    def __init__(self, dir=None, config=None, port=None, keep=False, java_opts=(), log=True):
        super().__init__(dir, config, port, keep)
        self.java_opts = list(java_opts)
        self.log = log

    def file_settings(self):
        return {k: v for k, v in self.config.items() if is_cfg_key(k)}

    def command(self):
        backend = "slf4j-simple.jar" if self.log else "slf4j-nop.jar"
        admin = ADMIN_JARS if self.config["admin.enableServer"] == "true" else ()
        jars = [os.path.join(JAR_FOLDER, jar) for jar in ("zookeeper.jar", backend) + admin]
        properties = ["-D%s=%s" % (property_name(k), v)
                      for k, v in self.config.items() if not is_cfg_key(k)]
        # A small, quickly compiled JVM: these servers live for seconds.
        return (["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                 "-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=1024"]
                + properties + self.java_opts
                + ["-cp", ":".join(jars), "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                   self.cfg_path])


class NettyServer(ApacheServer):
    """The same with what TLS needs."""

    def command(self):
        command = super().command()
        at = command.index("-cp") + 1
        command[at] += "".join(":" + os.path.join(JAR_FOLDER, jar) for jar in NETTY)
        return command


class PawlServer(Server):
    """pawld, from $PAWLD or the repository's build folder."""

    name = "pawld"

    def __init__(self, dir=None, config=None, port=None, keep=False, binary=None, args=()):
        self.binary = (binary or os.environ.get("PAWLD")
                       or os.path.join(REPO, "build", "bin", "pawld"))
        if not os.access(self.binary, os.X_OK):
            raise SystemExit("no pawld at %s: build it, or set PAWLD" % self.binary)
        super().__init__(dir, config, port, keep)
        self.args = list(args)

    def command(self):
        return [self.binary, self.cfg_path] + self.args

    def close(self):
        command, log = self.command(), self.log_text() if os.path.exists(self.log_path) else ""
        secrets_of.check(command, log)
        super().close()


KINDS = {"apache": ApacheServer, "pawld": PawlServer}


def make(kind, **kwargs):
    """A server by its name on a command line: 'apache' or 'pawld'."""
    if kind not in KINDS:
        raise SystemExit("unknown server '%s'; known: %s" % (kind, ", ".join(sorted(KINDS))))
    return KINDS[kind](**kwargs)
