#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo's own test suite, as it ships in Debian's python3-kazoo, on Apache ZooKeeper, on pawld, or on an
ensemble of either or both.

    kazoo_suite.py --kinds a|p|aaa|ppp|pap|... [--quick] [TEST...]

Every test must pass, except those that kazoo_left_out.txt names for these servers with a reason; one
that skips itself and is not named there counts as failed. --quick leaves the slow tests away.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import servers  # noqa: F401: the path of what follows
from patience import free_ports

HERE = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = os.path.join(HERE, "kazoo_left_out.txt")
SUITE_SECONDS = 1500
AGAIN = 3
SKIP = 77


def read_left_out(scopes):
    """{test: reason} of the lines whose first word is one of `scopes`."""
    tests = {}
    with open(LEFT_OUT) as f:
        for line in f:
            line = line.strip()
            if line and not line.startswith("#"):
                scope, test, reason = line.split(None, 2)
                if scope in scopes:
                    tests[test] = reason
    return tests


def scopes_of(kinds):
    """Which lines of kazoo_left_out.txt are about servers of these kinds."""
    scopes = {"both"}
    if len(kinds) == 1:
        scopes.add("one")
    if "p" in kinds:
        scopes.add("pawld")
    return scopes


def run_pytest(options, tests, left_out, report):
    env = dict(os.environ)
    env.update({
        "KAZOO_SUITE_KINDS": options.kinds,
        "ZOOKEEPER_VERSION": "3.8.0",
        "ZOOKEEPER_CLUSTER_SIZE": str(len(options.kinds)),
        "ZOOKEEPER_PORT_OFFSET": str(free_ports(10 * len(options.kinds))),
        "KAZOO_SUITE_LEFT_OUT": "\n".join(left_out),
        "PYTHONPATH": HERE,
        "PYTHONDONTWRITEBYTECODE": "1",
    })
    command = [sys.executable, "-m", "pytest", "-q", "-p", "kazoo_harness", "-p", "no:cacheprovider",
               "--tb=short", "-W", "ignore", "--durations=15", "--junitxml=" + report,
               "-o", "junit_family=xunit1", "--rootdir=" + tests_folder()]
    command += [os.path.join(tests_folder(), test) for test in tests or [""]]
    subprocess.run(command, env=env, cwd=os.path.dirname(report), timeout=SUITE_SECONDS)


def tests_folder():
    import kazoo.tests
    return os.path.dirname(kazoo.tests.__file__)


def read_report(path):
    """{test: 'passed' | 'failed' | 'skipped'} of a junit file."""
    outcome = {}
    for case in ElementTree.parse(path).iter("testcase"):
        module, _, cls = case.get("classname").rpartition(".")
        if module.endswith("tests"):  # a test function outside a class
            module, cls = case.get("classname"), ""
        test = "::".join(filter(None, (module.split(".")[-1] + ".py", cls, case.get("name"))))
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            outcome[test] = "failed"
        elif outcome.get(test) != "failed":
            outcome[test] = "skipped" if "skipped" in kinds else "passed"
    return outcome


def run_suite(options, left_out, folder):
    """What became of each test. Some of kazoo's tests count on an idle machine, so one that failed is
    run again, alone: what is wrong with a server is wrong every time."""
    report = os.path.join(folder, "report.xml")
    run_pytest(options, options.tests, left_out, report)
    outcome = read_report(report)
    for _ in range(AGAIN):
        failed = sorted(test for test in outcome if outcome[test] == "failed")
        if not failed:
            break
        for test in failed:
            print("again: %s" % test, flush=True)
        run_pytest(options, failed, left_out, report)
        outcome.update(read_report(report))
    return outcome


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", required=True, help="a letter for each member: p is pawld, a is Apache's")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("tests", nargs="*", help="e.g. test_lock.py::KazooLockTests")
    options = parser.parse_args()
    try:
        import kazoo.tests, mock, objgraph, pytest  # noqa: F401,E401
    except ImportError as missing:
        print("skipped: %s (python3-kazoo python3-pytest python3-mock python3-objgraph)" % missing)
        return SKIP

    left_out = read_left_out(scopes_of(options.kinds))
    slow = read_left_out({"slow"}) if options.quick else {}
    began = time.monotonic()
    folder = tempfile.mkdtemp(prefix="kazoo-suite-")
    try:
        outcome = run_suite(options, sorted(set(left_out) | set(slow)), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    named = {kind: sorted(t for t in outcome if outcome[t] == kind)
             for kind in ("passed", "failed", "skipped")}
    for test, reason in sorted(left_out.items()):
        print("left out: %s: %s" % (test, reason))
    for test in named["failed"]:
        print("FAILED: %s" % test)
    for test in named["skipped"]:
        print("FAILED: %s skips itself here and is not in the list" % test)
    print("kazoo suite on %s: %d passed, %d failed, %d left out%s, %.0f s" % (
        options.kinds, len(named["passed"]),
        len(named["failed"]) + len(named["skipped"]), len(left_out),
        ", %d slow ones not run" % len(slow) if slow else "", time.monotonic() - began))
    return 0 if named["passed"] and not named["failed"] and not named["skipped"] else 1


if __name__ == "__main__":
    sys.exit(main())
