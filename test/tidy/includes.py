#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""includes.py ROOT: holds every #include of src/ and include/ to the table in ARCHITECTURE.md."""
import pathlib
import re
import sys

C_LIBRARY = set("""assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp
signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath time
uchar wchar wctype""".split())
FOR_EVERYBODY = {"pawl/error.h", "pawl/version.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_table(page):
    """{folder: (folders it may include, headers of the system, whether all of them)}"""
    table = {}
    for line in page.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"`[\w/]+`", cells[0]):
            folders = set(re.findall(r"`([\w/]+)`", cells[1]))
            headers = set(re.findall(r"`([\w/.+-]+\.h)`", cells[2]))
            table[cells[0].strip("`")] = (folders, headers, cells[2] == "everything")
    return table


def complaint(folder, quoted, name, rule, known):
    """What is wrong with one #include, or None."""
    folders, headers, all_headers = rule
    top = "include/pawl" if name.startswith("pawl/") else name.split("/")[0]
    if name in FOR_EVERYBODY:
        return None
    if top in known and "/" in name:
        if top == folder.split("/")[0] or top in folders:
            return None
        return "`%s` may not include `%s`" % (folder, top)
    if quoted:
        return "ours are written from src/: no such folder"
    if name in headers or all_headers or name.removesuffix(".h") in C_LIBRARY:
        return None
    return "`%s` may not include <%s>" % (folder, name)


def folder_of(relative, table):
    """The longest row of the table that the file lies under: a part of a folder may have its own."""
    parts = relative.parts
    if parts[0] == "include":
        return "include/pawl"
    rows = ["/".join(parts[1:n]) for n in range(len(parts) - 1, 1, -1)]
    return next((row for row in rows if row in table), parts[1])


def main(root):
    table = read_table(root / "ARCHITECTURE.md")
    faults, n = [], 0
    if len(table) < 7:
        faults.append("ARCHITECTURE.md: no table of who may include what")
    files = sorted(p for top in ("src", "include") for p in (root / top).rglob("*")
                   if p.suffix in (".c", ".h", ".def"))
    for path in files:
        relative = path.relative_to(root)
        folder = folder_of(relative, table)
        if folder not in table:
            faults.append("%s: `%s` is not in the table" % (relative, folder))
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                n += 1
                fault = complaint(folder, match[1] == '"', match[2], table[folder], table)
                if fault:
                    faults.append("%s:%d: %s" % (relative, number, fault))
    print("\n".join(faults + ["%d includes in %d files, %d faults" % (n, len(files), len(faults))]))
    return 1 if faults or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
