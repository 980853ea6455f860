#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The four-letter words of a live server, held against what Apache's server was recorded to say.

    words.py --server apache|pawld [--show]

Two clients do the same few things on either server; then every word is asked for. Its answer must
have the lines of test/vectors/4lw/WORD.standalone.txt, numbers aside, and the numbers that do not
depend on time must be those expected here: the same for both servers. --show prints the answers.
"""
import argparse
import os
import re
import socket
import sys

import servers
import zkwire as zk

VECTORS = os.path.join(servers.REPO, "test", "vectors", "4lw")
IN_ORDER = ["srvr", "wchs", "conf", "dirs", "envi", "srst", "crst", "ruok", "isro", "gtmk", "stat"]
ANY_ORDER = ["cons", "dump", "wchc", "wchp"]
CLASSIC = ["zk_version", "zk_avg_latency", "zk_max_latency", "zk_min_latency",
           "zk_packets_received", "zk_packets_sent", "zk_num_alive_connections",
           "zk_outstanding_requests", "zk_server_state", "zk_znode_count", "zk_watch_count",
           "zk_ephemerals_count", "zk_approximate_data_size", "zk_open_file_descriptor_count",
           "zk_max_file_descriptor_count"]


QUOTA_EXCEEDED = -125
QUOTA_NODES = [  # two quotas, one inside the other
    ("/app", b"abc"), ("/app/x", b"12345"), ("/zookeeper/quota/app", b""),
    ("/zookeeper/quota/app/zookeeper_limits", b"count=5,bytes=-1=;byteHardLimit=20"),
    ("/zookeeper/quota/app/zookeeper_stats", b"count=0,bytes=0"), ("/zookeeper/quota/app/x", b""),
    ("/zookeeper/quota/app/x/zookeeper_limits", b"count=3,bytes=7"),
    ("/zookeeper/quota/app/x/zookeeper_stats", b"count=0,bytes=0")]
QUOTA_METRICS = {
    "zk_app_quota_count_limit_per_namespace": "8", "zk_app_quota_bytes_limit_per_namespace": "27",
    "zk_app_quota_count_usage_per_namespace": "3", "zk_app_quota_bytes_usage_per_namespace": "13",
    "zk_app_quota_exceeded_error_per_namespace": "1"}


class Failure(Exception):
    pass


def expect(truth, text, *args):
    if not truth:
        raise Failure(text % args if args else text)


def recorded(word, role="standalone"):
    with open(os.path.join(VECTORS, "%s.%s.txt" % (word, role))) as f:
        return f.read()


# -- shapes ---------------------------------------------------------------------------------------

def mask(line):
    """What remains of a line when versions, dates, values of the surroundings and numbers go."""
    line = re.sub(r"\d+\.\d+\.\d+-\S+, built on .*", "VERSION", line)
    line = re.sub(r"expire at \w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}:", "expire at DATE:", line)
    line = re.sub(r"^(java|os|user|host)\.([\w.]+)=.*", r"\1.\2=", line)
    line = re.sub(r"^(data\w*Dir)=.*", r"\1=", line)
    line = re.sub(r"lop=\w+", "lop=OP", line)
    line = re.sub(r"0x[0-9a-f]+", "N", line)
    line = re.sub(r"-?\d+\.\d+(E-?\d+)?(?![.\d])", "D", line)
    return re.sub(r"-?\d+", "N", line)


def shape_in_order(text):
    return [mask(line) for line in text.split("\n")]


def shape_any_order(text):
    return sorted(set(shape_in_order(text)))


def compare(word, text, shape):
    actual, expected = shape(text), shape(recorded(word))
    expect(actual == expected, "%s: lines %r, expected %r", word,
           [line for line in actual if line not in expected] or actual,
           [line for line in expected if line not in actual] or expected)


# -- what the clients do --------------------------------------------------------------------------

class Scene:
    """The tree, sessions and watches of the recording."""

    def __init__(self, port):
        self.port = port
        self.a, self.b = zk.Conn(port), zk.Conn(port)
        self.a.handshake(40000)
        self.b.handshake(40000)
        self.create(self.a, "/app", b"")
        self.create(self.a, "/app/config", b"v1")
        self.create(self.a, "/app/q-", b"", 3)
        self.create(self.a, "/app/lock", b"", 1)
        self.create(self.b, "/app/member-", b"", 3)
        self.ask(self.b, zk.GET_DATA, path="/app/config", watch=True)
        for i in range(130):
            self.ask(self.a, zk.SET_DATA, path="/app/config", data=b"%04d" % i, version=-1)
        event = self.b.recv()
        expect(isinstance(event, zk.Event), "an event was due, not %r", event)
        for conn in (self.a, self.b):
            self.ask(conn, zk.GET_DATA, path="/app/config", watch=True)
        self.ask(self.a, zk.EXISTS, err=zk.NO_NODE, path="/app/none", watch=True)
        # Apache's lists leave child watches out, ours do not: this one adds no path to them.
        self.ask(self.b, zk.GET_CHILDREN, path="/app/config", watch=True)
        self.ask(self.b, zk.PING)

    @staticmethod
    def ask(conn, op, err=0, **fields):
        conn.send(op, fields)
        reply = conn.recv()
        expect(reply.err == err, "%r", reply)

    def create(self, conn, path, data, flags=0):
        self.ask(conn, zk.CREATE, path=path, data=data, acl=zk.WORLD_ALL, flags=flags)

    def word(self, text):
        return servers.four_letter_word(self.port, text)


def mntr_values(text):
    return dict(line.split("\t") for line in text.splitlines())


# What a minute of thinking and both servers agree upon.
NUMBERS = {
    "zk_znode_count": 10, "zk_ephemerals_count": 3, "zk_global_sessions": 2,
    "zk_num_alive_connections": 3, "zk_outstanding_requests": 0, "zk_local_sessions": 0,
    "zk_watch_count": 4, "zk_connection_request_count": 2, "zk_connection_rejected": 0,
    "zk_cnt_connection_token_deficit": 2, "zk_stale_sessions_expired": 0,
    "zk_cnt_updatelatency": 137, "zk_cnt_readlatency": 6, "zk_cnt_propagation_latency": 137,
    "zk_cnt_node_changed_watch_count": 1, "zk_sum_node_changed_watch_count": 1,
    "zk_cnt_node_created_watch_count": 0, "zk_watch_bytes": 39,
    "zk_last_client_response_size": 16, "zk_min_client_response_size": 16,
    "zk_cnt_app_write_per_namespace": 135, "zk_min_app_write_per_namespace": 4,
    "zk_max_app_write_per_namespace": 22, "zk_sum_app_write_per_namespace": 2015,
    "zk_cnt_app_read_per_namespace": 4, "zk_max_app_read_per_namespace": 83,
    "zk_sum_app_read_per_namespace": 326, "zk_auth_failed_count": 0,
    "zk_approximate_data_size": 111,
}


def check_mntr(scene, is_pawl):
    text = scene.word("mntr")
    actual, expected = mntr_values(text), mntr_values(recorded("mntr"))
    actual = {key: value for key, value in actual.items() if not key.startswith("zk_pawl_")}
    expect(set(actual) == set(expected), "mntr: too many %r, missing %r",
           sorted(set(actual) - set(expected)), sorted(set(expected) - set(actual)))
    for key, value in actual.items():
        expect(mask(value) == mask(expected[key]), "mntr: %s is %s, like %s was due", key, value,
               expected[key])
    wrong = {key: (actual[key], want) for key, want in NUMBERS.items() if actual[key] != str(want)}
    expect(not wrong, "mntr: actual and expected %r", wrong)
    if is_pawl:
        keys = [line.split("\t")[0] for line in text[:1024].splitlines()[:-1]]
        expect(keys[:len(CLASSIC)] == CLASSIC, "mntr begins with %r", keys[:len(CLASSIC)])


def check_hash(scene):
    text = scene.word("hash")
    expect(re.fullmatch(r"80: -?\d+\n", text), "hash: %r", text)


def check_shapes(scene):
    for word in ANY_ORDER:
        compare(word, scene.word(word), shape_any_order)
    for word in IN_ORDER:
        compare(word, scene.word(word), shape_in_order)


# -- the wire -------------------------------------------------------------------------------------

def raw(port, data, half_close=False):
    """Everything that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        s.sendall(data)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        parts = []
        try:
            while part := s.recv(65536):
                parts.append(part)
        except ConnectionResetError:
            pass
        return b"".join(parts)


def check_wire(scene):
    cases = {b"ruok\r\n": b"imok", b"RUOK": b"", b"nope": b"", b"\xff\xf4\xff\xfd\x06": b"",
             b"stmk" + (250).to_bytes(8, "big"): b"250", b"gtmk": b"250"}
    for data, answer in cases.items():
        actual = raw(scene.port, data)
        expect(actual == answer, "%r was answered %r, not %r", data, actual, answer)
    expect(raw(scene.port, b"ruok", half_close=True) == b"imok", "a half-closed client gets its answer")


def check_whitelist(kind):
    with servers.make(kind, config={"4lw.commands.whitelist": "ruok, isro"}) as server:
        refused = servers.four_letter_word(server.port, "mntr")
        expect(refused == recorded("mntr", "notwhitelisted"), "mntr refused: %r", refused)
        expect(servers.four_letter_word(server.port, "ruok") == "imok", "ruok is listed")
        expect("Node count: 5\n" in servers.four_letter_word(server.port, "srvr"), "srvr never goes")


def check_quota(kind):
    with servers.make(kind, config={"enforceQuota": "true"}) as server:
        conn = zk.Conn(server.port)
        conn.handshake()
        for path, data in QUOTA_NODES:
            Scene.ask(conn, zk.CREATE, path=path, data=data, acl=zk.WORLD_ALL, flags=0)
        Scene.ask(conn, zk.SET_DATA, err=QUOTA_EXCEEDED, path="/app", data=b"x" * 50, version=-1)
        values = mntr_values(servers.four_letter_word(server.port, "mntr"))
        actual = {key: value for key, value in values.items() if "quota" in key}
        expect(actual == QUOTA_METRICS, "quotas: %r", actual)


def check_kazoo(port):
    try:
        from kazoo.client import KazooClient
    except ImportError:
        print("left out: kazoo is not installed")
        return
    client = KazooClient("127.0.0.1:%d" % port)
    client.start()
    try:
        version = client.server_version()
        expect(len(version) == 3 and version >= (3, 5, 0), "kazoo reads version %r", version)
    finally:
        client.stop()
        client.close()


def check_all(kind, show):
    with servers.make(kind) as server:
        scene = Scene(server.port)
        if show:
            for word in ["mntr", "hash"] + ANY_ORDER + IN_ORDER:
                print("--- %s\n%s" % (word, scene.word(word)))
            return
        check_mntr(scene, kind == "pawld")
        check_hash(scene)
        check_shapes(scene)
        check_wire(scene)
        check_kazoo(server.port)
    check_whitelist(kind)
    check_quota(kind)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), default="pawld")
    parser.add_argument("--show", action="store_true", help="print the answers, check nothing")
    args = parser.parse_args()
    try:
        check_all(args.server, args.show)
    except Failure as e:
        print("FAIL  %s" % e)
        return 1
    print("ok    words of %s" % args.server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
