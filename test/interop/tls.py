#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TLS between us and others, both ways: Apache's zkCli.sh and kazoo on pawld, and pawl on Apache's server
with its Netty; who is who is the same name on both."""
import os
import shutil
import subprocess
import sys
import tempfile

import servers

sys.path.insert(0, os.path.join(servers.REPO, "test", "lib"))
from certificates import Authority  # noqa: E402
from patience import free_port  # noqa: E402

PATIENCE = 300
SUBJECT = "/C=DE/O=Example, Inc./OU=a=b#c/emailAddress=a@b.c/CN=alice"


def stores(ca, who):
    return {"ssl.keyStore.location": ca.path(who + ".pem"), "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": ca.path("ca.crt"), "ssl.trustStore.type": "PEM"}


def config(ca, port, kind):
    more = {"serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory"}
    return dict(stores(ca, "server"), secureClientPort=str(port), **(more if kind == "apache" else {}))


def pawl(ca, port, *args):
    binary = os.path.join(os.path.dirname(os.environ.get("PAWLD") or "build/bin/pawld"), "pawl")
    command = [binary, "-C", "%ds" % PATIENCE, "-T", "60s", "-s", "zks://localhost:%d" % port, "--ca",
               ca.path("ca.crt"), "--cert", ca.path("client.pem"), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    if done.returncode != 0:
        sys.exit("%s\nended with %d: %s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def java(ca, port, *words):
    properties = dict(stores(ca, "client"), **{
        "client.secure": "true", "clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty"})
    jars = [os.path.join(servers.JAR_FOLDER, jar)
            for jar in ["zookeeper.jar", "slf4j-nop.jar", "commons-cli.jar"] + servers.NETTY]
    command = (["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
               + ["-Dzookeeper.%s=%s" % p for p in properties.items()]
               + ["-cp", ":".join(jars), "org.apache.zookeeper.ZooKeeperMain",
                  "-waitforconnection", "-timeout", "60000", "-server", "127.0.0.1:%d" % port, *words])
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    return done.stdout + done.stderr


def kazoo_session(ca, port):
    from kazoo.client import KazooClient
    client = KazooClient(hosts="localhost:%d" % port, use_ssl=True, verify_certs=True, timeout=60,
                         ca=ca.path("ca.crt"), certfile=ca.path("client.crt"),
                         keyfile=ca.path("client.key"))
    client.start(timeout=PATIENCE)
    client.create("/kazoo", b"x" * 100000)
    data = client.get("/kazoo")[0]
    client.stop()
    client.close()
    return data


def check(what, good, found=""):
    print("%s: %s" % (what, "good" if good else "WRONG\n" + found), flush=True)
    if not good:
        sys.exit(1)


def main():
    folder = tempfile.mkdtemp(prefix="pawl-tls-")
    try:
        ca = Authority(folder, "ca")
        ca.issue("server", "/CN=localhost", names="DNS:localhost,IP:127.0.0.1")
        ca.issue("client", SUBJECT)
        names = {}
        for kind, make in (("apache", servers.NettyServer), ("pawld", servers.PawlServer)):
            port = free_port()
            with make(config=config(ca, port, kind)):
                names[kind] = [line for line in pawl(ca, port, "whoami").splitlines()
                               if line.startswith("x509:")]
                pawl(ca, port, "create", "/a", "hello")
                check("pawl on %s: %s" % (kind, names[kind]), pawl(ca, port, "get", "/a") == "hello")
                said = java(ca, port, "get", "/a")
                check("zkCli on " + kind, "hello" in said, said)
                check("kazoo on " + kind, kazoo_session(ca, port) == b"x" * 100000)
                pawl(ca, port, "create", "/hers", "1")
                pawl(ca, port, "acl", "set", "/hers", "auth::cdrwa")
                check("its ACL on " + kind, names[kind][0][5:] in pawl(ca, port, "acl", "get", "/hers"))
        check("the same name on both", names["apache"] == names["pawld"] and len(names["pawld"]) == 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
