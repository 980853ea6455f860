# SPDX-License-Identifier: Apache-2.0
"""A fault of Apache's servers that tests of mixed ensembles meet by chance, and how to tell it from ours.

A member applies what is committed even before it has logged it (ZOOKEEPER-4882). If its leader goes in
this moment, it gives up what waits to be logged, and tells the next leader the last zxid of its tree. So
it gets what comes after that, and its log has a hole. When it is started again its tree lacks something,
others follow it or it follows them with another tree, and those of ours notice and stop.

The hole stays, and so does what the member said: that it has a transaction which its log lacks.
"""
import os
import re
import subprocess

TRIES = 3


def holes(member):
    """[(last zxid before the hole, first after it)] in the logs of a member."""
    pawl = os.path.join(os.path.dirname(os.environ["PAWLD"]), "pawl")
    said = subprocess.run([pawl, "log", member.data_dir], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True).stderr
    found = re.findall(r"goes on with transaction 0x(\w+), and those after 0x(\w+) are missing", said)
    return [(int(before, 16), int(after, 16)) for after, before in found]


def said_to_have(member, zxid, members):
    """Whether it came to a leader, ours or Apache's, with this as its last one."""
    words = r"server %d joins with zxid 0x%x\b|Learner sid: %d\b.* peerLastZxid=0x%x\b" % (
        member.number, zxid, member.number, zxid)
    return any(re.search(words, other.log_text()) for other in members if other is not member)


def find(members):
    """What one of Apache's has lost so, as a sentence; None: nothing that is known of."""
    for m in members:
        for before, after in holes(m) if m.kind == "a" else []:
            if said_to_have(m, after - 1, members):
                return "Apache's server %d said that it had 0x%x, and its log goes from 0x%x to 0x%x" % (
                    m.number, after - 1, before, after)
    return None


def play(story):
    """Plays a story, again if Apache's fault has spoilt it: the exit code of the program. `story`() returns
    what went wrong, None if nothing, and the members, whose files have to be there still."""
    for attempt in range(TRIES):
        wrong, members = story()
        if wrong is None:
            return 0
        fault = find(members)
        print(wrong)
        if fault is None:
            return 1
        print("not judged: %s" % fault, flush=True)
    return 1
