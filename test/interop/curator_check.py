#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Apache Curator's recipes (Java) on Apache ZooKeeper, on pawld, or on an ensemble.

    curator_check.py --server pawld|apache|ppp|pap|...

Compiles curator/CuratorCheck.java against Debian's jars into a temporary folder and runs it.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

import ensemble
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
JARS = ("curator-client", "curator-framework", "curator-recipes", "zookeeper", "zookeeper-jute",
        "guava", "failureaccess", "slf4j-api", "slf4j-nop", "jackson-core", "jackson-databind",
        "jackson-annotations")
RUN_SECONDS = 240
SKIP = 77


def class_path():
    paths = [os.path.join(servers.JAR_FOLDER, name + ".jar") for name in JARS]
    return [path for path in paths if os.path.exists(path)]


def missing():
    """What this test needs and the machine lacks, or None."""
    if shutil.which("javac") is None:
        return "javac (openjdk-17-jdk-headless)"
    if not os.path.exists(os.path.join(servers.JAR_FOLDER, "curator-recipes.jar")):
        return "libcurator-recipes-java"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", required=True, help="pawld, apache, or the kinds of an ensemble")
    options = parser.parse_args()
    if missing():
        print("skipped: no %s" % missing())
        return SKIP
    classes = tempfile.mkdtemp(prefix="curator-")
    try:
        jars = ":".join(class_path())
        source = os.path.join(HERE, "curator", "CuratorCheck.java")
        subprocess.run(["javac", "-nowarn", "-XDsuppressNotes", "-d", classes, "-cp", jars, source], check=True)
        with ensemble.one_or_several(options.server, {"extendedTypesEnabled": "true"}) as server:
            code = subprocess.run(
                ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars + ":" + classes,
                 "CuratorCheck", server.connect_string], timeout=RUN_SECONDS).returncode
            server.end()
    finally:
        shutil.rmtree(classes, ignore_errors=True)
    print("Curator on %s: %s" % (options.server, "passed" if code == 0 else "FAILED"))
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
