#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The official C client on Apache ZooKeeper or on pawld.

    c_client.py --server apache|pawld --program BUILD/zk_c_client

Starts a server, runs the program (zk_c_client.c) on it and restarts the server when it asks.
"""
import argparse
import subprocess
import sys

import servers

PROGRAM_SECONDS = 120


def converse(program, server):
    """Runs the program to its end; returns its exit code."""
    process = subprocess.Popen([program, server.address], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        for line in process.stdout:
            print(line, end="", flush=True)
            if line == "restart\n":
                server.end()
                server.start()
                process.stdin.write("done\n")
                process.stdin.flush()
        return process.wait(PROGRAM_SECONDS)
    finally:
        process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), required=True)
    parser.add_argument("--program", required=True)
    options = parser.parse_args()
    with servers.make(options.server, config={"extendedTypesEnabled": "true"}) as server:
        code = converse(options.program, server)
        server.end()
    print("C client on %s: %s" % (options.server, "passed" if code == 0 else "FAILED"))
    return 0 if code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
