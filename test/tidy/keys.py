#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""keys.py ROOT: a key with a field is a key with an effect. Every field that config_keys.def names is
read by a source that is not the table's own machinery; what nobody reads is STORED, and is named to
whoever gives it."""
import pathlib
import re
import sys

KEY = re.compile(r'^KEY\("([^"]+)",.*?\b((?:store|server|connection_throttle|request_throttle|net|'
                 r'security|log|ensemble|admin|metrics)\.[a-z0-9_]+),', re.MULTILINE)
TABLE = {"config.c", "config_table.c", "config_value.c", "config_print.c", "config_file.c"}


def main(root):
    folder = root / "src" / "daemon"
    table = folder / "config_keys.def"
    if not table.exists():
        return 77
    readers = [p for part in ("daemon", "admin", "pawld") for p in sorted((root / "src" / part).glob("*.c"))]
    text = "".join(p.read_text() for p in readers if p.name not in TABLE)
    faults = ["%s: nobody reads %s" % (name, field) for name, field in KEY.findall(table.read_text())
              if not re.search(r"(->|\.)%s\b" % re.escape(field), text)]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
