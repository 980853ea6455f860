#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One script through zkCli.sh and through `pawl shell`, on the same server, leaves the same nodes.

    zkcli_script.py --server pawld|apache

Each has a folder of its own for what the lines of zkcli_script.txt do. Compared are paths, data, ACLs,
versions, numbers of children and kinds of nodes, and what there is of quotas.
"""
import argparse
import os
import subprocess
import sys

import servers
import tree_dump
import zkcli

HERE = os.path.dirname(os.path.abspath(__file__))
PAWL = os.path.join(os.path.dirname(os.environ.get("PAWLD") or
                                    os.path.join(HERE, "..", "..", "build", "bin", "pawld")), "pawl")
CONFIG = dict(tree_dump.SUPER_CONFIG, extendedTypesEnabled="true", enforceQuota="true")
SECONDS = 600
FIELDS = ("data", "acl", "version", "cversion", "aversion", "ephemeralOwner", "numChildren")


def script(folder):
    with open(os.path.join(HERE, "zkcli_script.txt")) as f:
        lines = [line for line in f.read().splitlines() if line and not line.startswith("#")]
    return "create /@\n".replace("@", folder) + "\n".join(lines).replace("@", folder) + "\n"


def run(command, folder):
    """What it prints is shown if the trees differ."""
    done = subprocess.run(command, input=script(folder), text=True, timeout=SECONDS,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, HOME="/nonexistent"))
    return done.returncode, done.stdout


def part(tree, top):
    """{path below the top: what is compared of the node}"""
    return {path[len(top):]: {field: node[field] for field in FIELDS} for path, node in tree.items()
            if path == top or path.startswith(top + "/")}


def differences(one, other):
    for path in sorted(one.keys() | other.keys()):
        a, b = one.get(path), other.get(path)
        if a != b:
            yield "%s:\n  zkCli.sh %r\n  pawl     %r" % (path, a, b)


def compare(server):
    address = server.address
    _, said_java = run(zkcli.SHELL + ["-waitforconnection", "-server", address], "java")
    status, said_pawl = run([PAWL, "-s", address, "shell", "-k"], "pawl")
    tree = tree_dump.dump(server.port)
    wrong = []
    for top in ("/%s", "/zookeeper/quota/%s"):
        one, other = part(tree, top % "java"), part(tree, top % "pawl")
        assert one, "%s: the script has done nothing:\n%s" % (top, said_java)
        wrong += [top % "..." + difference for difference in differences(one, other)]
    if status == 0:
        wrong.append("pawl took none of the errors for one")
    if wrong:
        print("---- zkCli.sh\n%s\n---- pawl\n%s\n----" % (said_java, said_pawl))
    return wrong, len(part(tree, "/pawl"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), required=True)
    options = parser.parse_args()
    with servers.make(options.server, config=CONFIG) as server:
        wrong, n_nodes = compare(server)
    for line in wrong:
        print(line)
    print("zkCli.sh and pawl on %s: %d nodes, %s"
          % (options.server, n_nodes, "FAILED" if wrong else "the same"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
