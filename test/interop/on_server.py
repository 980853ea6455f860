#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A program of test/component on Apache ZooKeeper's server (or pawld as a process of its own).

    on_server.py --server apache|pawld PROGRAM...

The programs have a server in their own process; with PAWL_TEST_SERVER they use this one.
"""
import argparse
import os
import subprocess
import sys

import servers

CONFIG = {
    "tickTime": "200",
    "minSessionTimeout": "400",
    "maxSessionTimeout": "60000",
    "extendedTypesEnabled": "true",
}


def run(server, program):
    environment = dict(os.environ, PAWL_TEST_SERVER=server.address)
    code = subprocess.call([program], env=environment)
    print("%s on %s: %s" % (os.path.basename(program), server.name,
                            "passed" if code == 0 else "FAILED (%d)" % code))
    return code == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", choices=("apache", "pawld"), required=True)
    parser.add_argument("program", nargs="+")
    args = parser.parse_args()
    with servers.make(args.server, config=CONFIG) as server:
        results = [run(server, p) for p in args.program]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
