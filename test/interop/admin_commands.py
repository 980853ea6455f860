#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The admin server's commands and metrics, held against what Apache's server says, key by key.

    admin_commands.py recorded    # pawld alone and in each role of an ensemble, against test/vectors
    admin_commands.py live        # the same scene on Apache's server and on pawld, side by side

Keys and the kinds of their values must be the same. Maps by session, path, time or server are compared by
what they map to. What differs is listed below, each with its reason.
"""
import json
import os
import re
import sys
import urllib.request

import servers
import words
from ensemble import Ensemble
from patience import free_port, wait_until

VECTORS = os.path.join(servers.REPO, "test", "vectors", "4lw")
PROMETHEUS = "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider"
COMMANDS = """configuration connection_stat_reset connections dirs dump environment get_trace_mask hash
initial_configuration is_read_only last_snapshot leader monitor observer_connection_stat_reset observers ruok
server_stats set_trace_mask stat_reset stats voting_view watch_summary watches watches_by_path zabstate""".split()
SECONDS = 60

# Maps whose keys are data.
BY_DATA = {"expiry_time_to_session_ids", "session_id_to_ephemeral_paths", "session_id_to_watched_paths",
           "path_to_session_ids", "current_config"}

# Names that pawld has not: the JVM, and what Apache's leader counts of each learner's queue.
NOT_OURS = re.compile(r"jvm_(?!pause)|ack_latency$|learner_handler_qp_"
                      r"|.*_(ack_latency|learner_handler_qp_\w+)$")
# mntr of a member of the recording: what clients had done there, and an observer master's.
OF_THE_SCENE = re.compile(r".*_(read|write)_per_namespace$|quota_\w+_per_namespace$|synced_observers$"
                          r"|.*_quota_\w+_per_namespace$")


class Failure(Exception):
    pass


def expect(truth, text, *args):
    if not truth:
        raise Failure(text % args)


def get(port, path):
    with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), timeout=SECONDS) as answer:
        return answer.read().decode()


def ask(port, command):
    return json.loads(get(port, "/commands/%s" % command))


def recorded(command, role):
    with open(os.path.join(VECTORS, "admin", "%s.%s.json" % (command, role))) as f:
        return json.load(f)


# -- shapes ---------------------------------------------------------------------------------------

def shape(value, name=""):
    """Keys and kinds; of lists and maps by data, those of all elements together."""
    if isinstance(value, dict) and name in BY_DATA:
        # Apache's lists times at which nothing ends any more, too.
        return {"*": sorted({json.dumps(shape(v), sort_keys=True) for v in value.values() if v != []})}
    if isinstance(value, dict):
        return {key: shape(v, key) for key, v in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(v), sort_keys=True) for v in value})
    if isinstance(value, bool):
        return "true or false"
    return "number" if isinstance(value, (int, float)) else "null" if value is None else "text"


def without_scene(body):
    return {k: v for k, v in body.items()
            if not OF_THE_SCENE.match(k) and not NOT_OURS.match(k) and not k.startswith("pawl_")}


def differences(actual, expected, path=""):
    if not isinstance(actual, dict) or not isinstance(expected, dict):
        return [] if actual == expected else ["%s: %s, not %s" % (path, actual, expected)]
    found = ["%s/%s: too many" % (path, k) for k in sorted(set(actual) - set(expected))]
    found += ["%s/%s: missing" % (path, k) for k in sorted(set(expected) - set(actual))]
    for key in sorted(set(actual) & set(expected)):
        found += differences(actual[key], expected[key], "%s/%s" % (path, key))
    return found


def compare(command, actual, expected, role):
    if command == "monitor":
        actual, expected = without_scene(actual), without_scene(expected)
    if command == "observers":  # pawld does not tell of single ones
        actual, expected = dict(actual, observers=[]), dict(expected, observers=[])
    if command == "hash" or role != "standalone" and command in LISTS:
        actual, expected = set(actual), set(expected)
        expect(actual == expected, "%s of a %s: fields %s, not %s", command, role, actual, expected)
        return
    found = differences(shape(actual), shape(expected))
    expect(not found, "%s of a %s: %s", command, role, "; ".join(found))
    expect(actual["command"] == expected["command"] and actual["error"] == expected["error"],
           "%s of a %s: %r", command, role, actual)


# What a member shows of its clients, which are not those of the recording.
LISTS = {"connections", "stats", "dump", "watches", "watches_by_path"}


def compare_all(port, role):
    for command in COMMANDS:
        argument = "?traceMask=306" if command == "set_trace_mask" else ""
        actual = json.loads(get(port, "/commands/%s%s" % (command, argument)))
        compare(command, actual, recorded(command, role), role)


# -- metrics --------------------------------------------------------------------------------------

def families(text):
    """{name: (type, the labels that its rows have)}"""
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    labels = {name: set() for name in types}
    for name, inside in re.findall(r"^([a-z_A-Z]\w*)(?:\{(.*)\})? \S+$", text, re.M):
        family = name if name in types else re.sub(r"_(count|sum)$", "", name)
        expect(family in types, "the metric %s has no type", name)
        labels[family] |= set(re.findall(r'quantile="[^"]*"', inside))
    return {name: (types[name], labels[name]) for name in types}


def compare_metrics(text, expected_text, role):
    actual, expected = families(text), families(expected_text)
    for name, (kind, labels) in sorted(expected.items()):
        if NOT_OURS.match(name) or role != "leader" and name == "synced_observers":
            continue
        expect(name in actual, "metrics of a %s: no %s", role, name)
        expect(actual[name][0] == kind, "metrics of a %s: %s is a %s, not a %s", role, name,
               actual[name][0], kind)
        expect(labels <= actual[name][1] or "per_namespace" in name,
               "metrics of a %s: %s has %s, not %s", role, name, actual[name][1], labels)
    more = [n for n in actual if n not in expected and not n.startswith(("pawl_", "process_"))]
    expect(set(more) <= LATER, "metrics of a %s: %s are nobody's", role, more)


# Of namespaces and quotas when there were none in the recording.
LATER = {"quota_exceeded_error_per_namespace", "read_per_namespace", "write_per_namespace"}


def recorded_metrics(role):
    with open(os.path.join(VECTORS, "prometheus", "metrics.%s.txt" % role)) as f:
        return f.read()


# -- against the recordings -----------------------------------------------------------------------

def admin_config():
    return {"admin.enableServer": "true", "admin.serverAddress": "127.0.0.1",
            "admin.serverPort": str(free_port())}


def check_alone():
    with servers.make("pawld", config=admin_config()) as server:
        port = int(server.config["admin.serverPort"])
        scene = words.Scene(server.port)  # its clients stay
        compare_all(port, "standalone")
        del scene
        index = get(port, "/commands")
        with open(os.path.join(VECTORS, "admin", "index.html")) as f:
            missing = [line for line in f if line not in index]
        expect(not missing, "the index has no %r", missing)


def check_roles():
    ensemble = Ensemble("pppP", config={"readonlymode.enabled": "true"})
    for m in ensemble.members:
        m.config.update(admin_config())
    with ensemble as e:
        modes = {m: m.mode() for m in e.members}
        for m, mode in modes.items():
            port = int(m.config["admin.serverPort"])
            compare_all(port, mode)
            compare_metrics(get(port, "/metrics"), recorded_metrics(mode), mode)
        check_views(e, modes)
        check_read_only(e, modes)


def check_views(e, modes):
    leader = next(m for m, mode in modes.items() if mode == "leader")
    for m, mode in modes.items():
        port = int(m.config["admin.serverPort"])
        said = ask(port, "leader")
        expect((said["leader_id"], said["is_leader"], said["leader_ip"])
               == (leader.number, m is leader, "127.0.0.1"), "leader: %r", said)
        view = ask(port, "voting_view")["current_config"]
        expect(sorted(view) == ["1", "2", "3"], "voting_view: %r", view)
        expect(view["2"]["client_address"] == e.members[1].address, "voting_view: %r", view)
        state = ask(port, "zabstate")
        expect((state["myid"], state["voting"], state["zabstate"])
               == (m.number, mode != "observer", "broadcast"), "zabstate: %r", state)


def check_read_only(e, modes):
    """Two of three voters are gone: the last one serves readers, and says why it is not ready."""
    last = next(m for m, mode in modes.items() if mode == "follower")
    port = int(last.config["admin.serverPort"])
    for m in e.members:
        if m is not last:
            m.kill9()
    wait_until(lambda: ask(port, "isro").get("read_only"), "a read-only server")
    compare_all(port, "readonly")
    try:
        get(port, "/readyz")
        raise Failure("a read-only server says that it is ready")
    except urllib.error.HTTPError as error:
        said = error.read().decode()
        expect(error.code == 503 and "[-] serving: it finds no leader" in said, "readyz: %r", said)


# -- beside a running one -------------------------------------------------------------------------

def ask_both(kind):
    config = dict(admin_config(), **{"metricsProvider.className": PROMETHEUS,
                                     "metricsProvider.httpPort": str(free_port()),
                                     "metricsProvider.httpHost": "127.0.0.1"})
    if kind == "apache":  # its metrics come with a jar that Debian does not pack; its mntr changes with it
        config = {k: v for k, v in config.items() if not k.startswith("metricsProvider")}
    with servers.make(kind, config=config) as server:
        scene = words.Scene(server.port)
        port = int(config["admin.serverPort"])
        wait_until(lambda: serves_http(port), "the admin server of %s" % kind)
        answers = {c: ask(port, c) for c in COMMANDS}
        answers["unknown"] = ask(port, "nonsense")
        for alias in ("conf", "cons", "srvr", "stat", "mntr", "wchs", "isro", "lead", "env"):
            answers["alias " + alias] = ask(port, alias)
        if kind == "pawld":
            families(get(int(config["metricsProvider.httpPort"]), "/metrics"))
        del scene
        return answers


def serves_http(port):
    try:
        return ask(port, "ruok")["error"] is None
    except OSError:
        return False


def check_live():
    theirs, ours = ask_both("apache"), ask_both("pawld")
    for name in theirs:
        command = "monitor" if name == "alias mntr" else name
        compare(command, ours[name], theirs[name], "standalone")
    for command, key in (("configuration", "tick_time"), ("configuration", "max_session_timeout"),
                         ("watch_summary", "num_connections"), ("monitor", "znode_count"),
                         ("monitor", "ephemerals_count"), ("monitor", "watch_count"),
                         ("server_stats", "node_count"), ("is_read_only", "read_only")):
        expect(ours[command][key] == theirs[command][key], "%s of %s: %r, not %r", key, command,
               ours[command][key], theirs[command][key])


def main():
    checks = {"recorded": (check_alone, check_roles), "live": (check_live,)}
    try:
        for check in checks[sys.argv[1]]:
            check()
    except Failure as failure:
        print("FAIL  %s" % failure)
        return 1
    print("ok    admin commands, %s" % sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
