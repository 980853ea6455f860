#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Java Curator and libpawl in the same queues, barriers and counters.

    curator_recipes.py --program BUILD/recipe_peer --server pawld [--server apache] [--server ppp]
                       [--only NAME]

CuratorPeer.java and recipe_peer.c know the same verbs; each actor in them is a client of its own. A
referee counts who is inside of what. Where both sides stand in a queue the znodes are compared with
the recorded ones in test/vectors/curator. Curator's discovery is left out where its jar is not
installed (libcurator-discovery-java), and $CURATOR_JARS may name a folder that has it.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

from kazoo.client import KazooClient

import curator_check
import ensemble
import peers
import recipe_stories
import servers

SESSION_MS = 8000  # who is killed is waited for so long; who is only slow must not be lost
SKIP = 77
DISCOVERY = "curator-x-discovery.jar"


def discovery_jar():
    for folder in (os.environ.get("CURATOR_JARS"), servers.JAR_FOLDER):
        if folder and os.path.exists(os.path.join(folder, DISCOVERY)):
            return os.path.join(folder, DISCOVERY)
    return None


def compile_peer(folder):
    """Gives the class path."""
    jars = curator_check.class_path() + ([discovery_jar()] if discovery_jar() else [])
    sources = ["CuratorPeer", "PeerLocks", "PeerElections", "PeerCounters", "PeerQueues",
               "PeerGroups"]
    if discovery_jar():
        sources.append("PeerDiscovery")
    subprocess.run(["javac", "-nowarn", "-XDsuppressNotes", "-d", folder, "-cp", ":".join(jars)]
                   + [os.path.join(peers.HERE, "curator", name + ".java") for name in sources],
                   check=True)
    return ":".join(jars + [folder])


class Onlooker(KazooClient):
    """Sees what has been answered to anybody, at whatever member it looks."""

    def get(self, path):
        self.sync("/")
        return super().get(path)

    def get_children(self, path):
        self.sync("/")
        return super().get_children(path)

    def exists(self, path):
        self.sync("/")
        return super().exists(path)


class Stage:
    """A server or an ensemble, the two peers that last, and how to start more that do not."""

    def __init__(self, server, program, class_path):
        self.server, self.program, self.class_path = server, program, class_path
        self.members = getattr(server, "members", [server])
        self.eyes = [Onlooker(m.address) for m in self.members]
        for eye in self.eyes:
            eye.start()
        self.session_ms = SESSION_MS
        self.referee = peers.Referee()
        self.peers = []
        self.zk = Onlooker(server.connect_string)
        self.java = self.new_java("java")
        self.c = self.new_c("c")
        self.zk.start()
        for peer in self.peers:
            peer.wait_ready()

    def level(self):
        """Whatever has been answered to one peer is to be seen by the others, whichever member they have."""
        for eye in self.eyes:
            eye.sync("/")

    def words(self, word):
        return "\n".join(servers.four_letter_word(m.port, word) for m in self.members)

    def arguments(self):
        return [self.server.connect_string, str(SESSION_MS), str(self.referee.port)]

    def new_java(self, name):
        self.peers.append(peers.Peer(name, [
            "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
            "-cp", self.class_path, "CuratorPeer"] + self.arguments(), self.level))
        return self.peers[-1]

    def new_c(self, name):
        self.peers.append(peers.Peer(name, [self.program] + self.arguments(), self.level))
        return self.peers[-1]

    def knows(self, verb):
        return verb in self.java.verbs and verb in self.c.verbs

    def close(self):
        for peer in self.peers:
            peer.close()
        for client in self.eyes + [self.zk]:
            client.stop()
            client.close()
        self.referee.close()


def nothing_left(stage):
    """When Java is gone and C has freed what it had, with its connections still open, the server
    keeps no watch and no ephemeral node."""
    for answer in [stage.c.tell(actor, "free") for actor in list(stage.c.open)]:
        answer.get()

    def counts():
        return [line for line in stage.words("mntr").splitlines()
                if line.startswith(("zk_watch_count", "zk_ephemerals_count"))]
    peers.wait_until(lambda: all(line.endswith("\t0") for line in counts()),
                     "no watch and no ephemeral, but: %s" % counts())


def run(kind, options, class_path):
    began = time.monotonic()
    config = {"tickTime": "500", "extendedTypesEnabled": "true", "preAllocSize": "1024"}
    with ensemble.one_or_several(kind, config) as server:
        stage = Stage(server, options.program, class_path)
        try:
            for story, verb in recipe_stories.STORIES:
                name = story.__name__.replace("_", " ")
                if options.only and options.only not in name:
                    continue
                if not stage.knows(verb):
                    print("%s: %s: LEFT OUT, no %s" % (kind, name, verb), flush=True)
                    continue
                start = time.monotonic()
                said = story(stage)
                print("%s: %s: %s (%.1f s)" % (kind, name, said or "held",
                                               time.monotonic() - start), flush=True)
            stage.java.end()
            nothing_left(stage)
            stage.c.end()
        finally:
            stage.close()
        server.end()
    print("%s: all held in %.1f s" % (kind, time.monotonic() - began), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--server", action="append", required=True,
                        help="pawld, apache, or the kinds of an ensemble")
    parser.add_argument("--only", help="stories with this in their name")
    options = parser.parse_args()
    if curator_check.missing():
        print("skipped: no %s" % curator_check.missing())
        return SKIP
    classes = tempfile.mkdtemp(prefix="curator-")
    try:
        class_path = compile_peer(classes)
        for kind in options.server:
            run(kind, options, class_path)
    finally:
        shutil.rmtree(classes, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
