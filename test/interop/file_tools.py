#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What `pawl log` and `pawl snapshot` say of a file, and what Apache's tools say of it.

    file_tools.py [--pawl PROGRAM]

TxnLogToolkit and SnapshotFormatter read the recorded folders of Apache's server (test/vectors/datadir)
and folders that Apache's server and pawld have just written; of each transaction and each node both
programs must say the same.
"""
import argparse
import base64
import calendar
import glob
import json
import os
import re
import subprocess
import sys
import time

import servers
import zkwire as zk
from patience import PATIENCE_SECONDS

VECTORS = os.path.join(servers.REPO, "test", "vectors", "datadir")
JARS = ":".join(os.path.join(servers.JAR_FOLDER, name + ".jar")
                for name in ("zookeeper", "slf4j-nop", "commons-cli", "metrics-core", "snappy-java"))
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8",
        "-Duser.language=en", "-Duser.country=US", "-Dzookeeper.extendedTypesEnabled=true", "-cp", JARS]
HEAD = re.compile(r"^(\d+/\d+/\d+, \S+ [AP]M UTC) session 0x([0-9a-f]+) cxid 0x([0-9a-f]+) "
                  r"zxid 0x([0-9a-f]+) (\w+)(?: |$)", re.MULTILINE)
NAMES = {"createTTL": "createTtl"}  # theirs, where they differ
CONFIG = {"extendedTypesEnabled": "true", "snapCount": "40"}


def java(main, *args):
    done = subprocess.run(JAVA + [main, *args], capture_output=True, timeout=PATIENCE_SECONDS)
    if done.returncode != 0:
        sys.exit("%s %s: %s" % (main, args, done.stderr.decode()[-2000:]))
    return done.stdout.decode("utf-8", "replace")


def pawl(program, *args):
    done = subprocess.run([program, "-j", *args], capture_output=True, timeout=PATIENCE_SECONDS)
    if done.returncode != 0:
        sys.exit("pawl %s: %s" % (args, done.stderr.decode()))
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def data_of(entry):
    if "data_base64" in entry:
        return base64.b64decode(entry["data_base64"])
    return (entry["data"] or "").encode()


# -- transactions ---------------------------------------------------------------------------------

def perms_number(letters):
    return sum({"r": 1, "w": 2, "c": 4, "d": 8, "a": 16}[letter] for letter in letters)


def acl_text(acl, entry, between, end):
    return between.join(entry % (perms_number(a["perms"]), a["scheme"], a["id"]) + end for a in acl)


def as_java(op):
    """One transaction of ours in the words of TxnLogToolkit, but for multis."""
    kind = op["type"]
    data = data_of(op).decode("utf-8", "replace") if "data" in op or "data_base64" in op else ""
    if kind.startswith("create") and kind != "createSession":
        fields = [op["path"], data, "[%s]" % acl_text(op["acl"], "%d,s{'%s,'%s}", ", ", "\n")]
        if kind in ("create", "create2"):
            fields.append(str(op["ephemeral"]).lower())
        fields.append(str(op["parent_cversion"]))
        if kind == "createTTL":
            fields.append(str(op["ttl"]))
        return ",".join(fields)
    return {"createSession": lambda: str(op["timeout"]),
            "closeSession": lambda: "v{%s}" % ",".join("'" + p for p in op["deletes"]) if "deletes" in op else "",
            "delete": lambda: "'" + op["path"], "deleteContainer": lambda: "'" + op["path"],
            "error": lambda: str(op["error"]),
            "setData": lambda: "%s,%s,%d" % (op["path"], data, op["version"]),
            "reconfig": lambda: "%s,%s,%d" % (op["path"], data, op["version"]),
            "check": lambda: "'%s,%d" % (op["path"], op["version"]),
            "setACL": lambda: "'%s,v{%s},%d" % (op["path"], acl_text(op["acl"], "s{%d,s{'%s,'%s}}", ",", ""),
                                                op["version"])}[kind]()


def multi_agrees(ours, text):
    """TxnLogToolkit prints the bytes of each operation: names and paths can be told."""
    theirs = [part for part in text.split(";") if part]
    if len(theirs) != len(ours):
        return False
    for op, part in zip(ours, theirs):
        name, _colon, rest = part.partition(":")
        if name.lower() != op["type"].lower() or (op.get("path") or "") not in rest:
            return False
    return True


def java_transactions(path):
    text = java("org.apache.zookeeper.server.persistence.TxnLogToolkit", path)
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [text.rindex("EOF reached after %d txns." % len(heads))]
    return [(head, text[head.end():end].rstrip("\n")) for head, end in zip(heads, ends)]


def compare_log(program, path):
    ours, theirs = pawl(program, "log", path), java_transactions(path)
    if len(ours) != len(theirs):
        return ["%s: we say %d transactions, Apache's %d" % (path, len(ours), len(theirs))]
    faults = []
    for txn, (head, rest) in zip(ours, theirs):
        when = calendar.timegm(time.strptime(head[1], "%m/%d/%y, %I:%M:%S %p UTC"))
        facts = (txn["time"] // 1000, int(txn["session"], 16), txn["cxid"] & 0xffffffff, int(txn["zxid"], 16),
                 NAMES.get(txn["type"], txn["type"]))
        if facts != (when, int(head[2], 16), int(head[3], 16), int(head[4], 16), head[5]):
            faults.append("%s: %s is not %r" % (path, facts, head[0]))
        agrees = multi_agrees(txn["operations"], rest) if txn["type"] == "multi" else as_java(txn).rstrip("\n") == rest
        if not agrees:
            faults.append("%s: %s: %r is not %r" % (path, txn["zxid"], txn if txn["type"] == "multi"
                                                    else as_java(txn), rest))
    return faults


# -- nodes ----------------------------------------------------------------------------------------

def java_nodes(text):
    nodes = {}
    for block in text[:text.index("Session Details")].split("----\n")[1:]:
        lines = block.splitlines()
        if not lines:
            continue
        fields = dict(line.strip().split(" =", 1) for line in lines[1:] if " =" in line)
        nodes[lines[0]] = {name: value.strip() for name, value in fields.items()}
    return nodes


def java_sessions(text):
    lines = text[text.index("Session Details"):].splitlines()[1:]
    return sorted(tuple(int(x, 0) for x in line.split(", ")) for line in lines if line.startswith("0x"))


def node_facts(node):
    stat = node["stat"]
    # Clients are shown creations and deletions of children; the file counts creations.
    created = (stat["cversion"] + stat["children"]) // 2
    return (int(stat["czxid"], 16), int(stat["mzxid"], 16), int(stat["pzxid"], 16), stat["ctime"] // 1000,
            stat["mtime"] // 1000, created, stat["version"], stat["aversion"], data_of(node))


def java_facts(fields):
    def seconds(text):
        return calendar.timegm(time.strptime(text, "%a %b %d %H:%M:%S UTC %Y"))
    return (int(fields["cZxid"], 16), int(fields["mZxid"], 16), int(fields["pZxid"], 16), seconds(fields["ctime"]),
            seconds(fields["mtime"]), int(fields["cversion"]), int(fields["dataVersion"]),
            int(fields["aclVersion"]), base64.b64decode(fields["data"]))


def compare_snapshot(program, path):
    text = java("org.apache.zookeeper.server.SnapshotFormatter", "-d", path)
    theirs = java_nodes(text)
    ours = {node["path"]: node for node in pawl(program, "snapshot", path)}
    faults = ["%s: only one of the two has %s" % (path, name) for name in set(ours) ^ set(theirs)]
    for name in sorted(set(ours) & set(theirs)):
        if node_facts(ours[name]) != java_facts(theirs[name]):
            faults.append("%s: %s: %r is not %r" % (path, name, node_facts(ours[name]), java_facts(theirs[name])))
    sessions = sorted((int(s["session"], 16), s["timeout"], s["ephemerals"])
                      for s in pawl(program, "snapshot", "-e", path))
    if sessions != java_sessions(text):
        faults.append("%s: sessions %r are not %r" % (path, sessions, java_sessions(text)))
    return faults


# -- fresh folders --------------------------------------------------------------------------------

def write(port):
    """Every kind of transaction, and enough of them for a snapshot."""
    conn = zk.Conn(port, timeout=60.0)
    conn.handshake(timeout_ms=30000)

    def node(path, data, op=zk.CREATE, flags=0, **more):
        conn.call(op, dict({"path": path, "data": data, "acl": zk.WORLD_ALL, "flags": flags}, **more))

    node("/a", b"first")
    node("/a/seq-", b"\x00\xff\x1b", flags=2)
    node("/a/mine", b"x", flags=1)
    node("/c", b"", op=zk.CREATE_CONTAINER, flags=4)
    node("/t", b"ttl", op=zk.CREATE_TTL, flags=5, ttl=3600000)
    node("/a", b"again")
    conn.call(zk.SET_ACL, {"path": "/a", "version": -1,
                           "acl": [zk.acl(31, "world", "anyone"), zk.acl(1, "ip", "10.0.0.0/8")]})
    for i in range(100):
        conn.call(zk.SET_DATA, {"path": "/a", "data": b"%d" % i, "version": -1})
    other = zk.Conn(port, timeout=60.0)
    other.handshake(timeout_ms=20000)
    other.call(zk.CREATE, {"path": "/gone", "data": b"", "acl": zk.WORLD_ALL, "flags": 1})
    other.call(zk.CLOSE_SESSION, {})
    conn.call(zk.DELETE, {"path": "/c", "version": -1})
    conn.close()


def compare_folder(program, folder):
    faults, n = [], 0
    for path in sorted(glob.glob(os.path.join(folder, "version-2", "*"))):
        name = os.path.basename(path)
        if name.startswith("log."):
            faults, n = faults + compare_log(program, path), n + 1
        elif name.startswith("snapshot."):
            faults, n = faults + compare_snapshot(program, path), n + 1
    return faults, n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pawl", default=os.path.join(os.path.dirname(os.environ.get("PAWLD", "")), "pawl"))
    options = parser.parse_args()
    if not os.path.exists(os.path.join(servers.JAR_FOLDER, "zookeeper.jar")):
        print("Apache ZooKeeper is not installed")
        sys.exit(77)
    faults, n = [], 0
    for folder in sorted(glob.glob(os.path.join(VECTORS, "*"))) + sorted(
            glob.glob(os.path.join(VECTORS, "compressed", "*"))):
        more, count = compare_folder(options.pawl, folder)
        faults, n = faults + more, n + count
    for kind in "apache", "pawld":
        with servers.make(kind, config=CONFIG) as server:
            write(server.port)
            server.stop()
            more, count = compare_folder(options.pawl, server.data_dir)
            faults, n = faults + more, n + count
    print("\n".join(faults + ["%d files, %d disagreements" % (n, len(faults))]))
    sys.exit(1 if faults or n < 12 else 0)


if __name__ == "__main__":
    main()
