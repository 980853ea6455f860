#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Curator's reconfig and its EnsembleTracker (Java) on ensembles whose members change.

    curator_reconfig.py KINDS...
"""
import os
import shutil
import subprocess
import sys
import tempfile

import curator_check
from changing import Changing


def play(kinds, jars, classes):
    with Changing(kinds) as e:
        e.start()
        e.wait_in_force(e.text())
        who = e.followers()[0]
        subprocess.run(["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars + ":" + classes,
                        "CuratorReconfig", ",".join(m.address for m in e.members), "%d" % who.number, who.line(),
                        who.address], check=True, timeout=curator_check.RUN_SECONDS)
        e.wait_in_force(e.text())


def main():
    if curator_check.missing():
        print("skipped: no %s" % curator_check.missing())
        return curator_check.SKIP
    classes = tempfile.mkdtemp(prefix="curator-")
    try:
        jars = ":".join(curator_check.class_path())
        source = os.path.join(curator_check.HERE, "curator", "CuratorReconfig.java")
        subprocess.run(["javac", "-nowarn", "-XDsuppressNotes", "-d", classes, "-cp", jars, source], check=True)
        for kinds in sys.argv[1:]:
            play(kinds, jars, classes)
            print("%s: passed" % kinds, flush=True)
    finally:
        shutil.rmtree(classes, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
