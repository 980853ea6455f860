#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pages.py ROOT: the pages hang together. Every page of docs/ is in the index, every link leads to a page and
a heading that exist, and every message in the tables of docs/operating.md is one that the sources print."""
import pathlib
import re
import sys

FORMAT = r'%[-+ #0-9.*]*(?:ll|l|h|z|j)?[a-zA-Z](?:"?\s*PRI\w+\s*"?)?'


def prose(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(text):
    """As GitHub makes them from headings."""
    for heading in re.findall(r"^#+ (.*)$", prose(text), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def dead_links(root, pages):
    for page in pages:
        for link, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", prose(page.read_text())):
            to = (page.parent / link) if link else page
            if not to.exists():
                yield "%s: %s does not exist" % (page.relative_to(root), link)
            elif anchor and anchor not in anchors(to.read_text()):
                yield "%s: %s has no heading #%s" % (page.relative_to(root), link or "it", anchor)


def not_in_the_index(root):
    index = (root / "docs/README.md").read_text()
    for page in sorted((root / "docs").glob("*.md")):
        if page.name != "README.md" and "(%s)" % page.name not in index:
            yield "docs/README.md does not name %s" % page.name


def literals(root):
    """Every text of the sources, pieces joined, with … for what is filled in."""
    for folder in ("src", "include"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".c", ".h", ".def"):
                continue
            code = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.S)
            for text in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:[\s\\]*(?:(?:PRI|[A-Z_]+_)\w+[\s\\]*)?"(?:[^"\\\n]|\\.)*")*', code):
                text = re.sub(r'%[-+ #0-9.*]*"\s*PRI\w+\s*"', "…", text)
                text = re.sub(r'"[\s\\]*[A-Z_]+[\s\\]*"', "…", text)
                text = re.sub(r'"[\s\\]*"', "", text)
                yield re.sub(FORMAT, "…", text).replace('\\"', '"')


def messages(text):
    """The first column of every table that has messages in it."""
    for table in re.findall(r"^\| message \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M):
        for row in table.splitlines():
            yield re.match(r"\| `([^`]*)`", row)[1]


def unknown_messages(root):
    known = "\n".join(literals(root))
    found = list(messages((root / "docs/operating.md").read_text()))
    for message in found:
        wanted = "[^\n]*?".join(re.escape(part.strip()) for part in re.split("…|\\.\\.\\.", message))
        if not re.search(wanted, known):
            yield "docs/operating.md: nothing prints `%s`" % message
    if len(found) < 20:
        yield "docs/operating.md: only %d messages were found" % len(found)


def main(root):
    pages = [*sorted(root.glob("*.md")), *sorted((root / "docs").glob("*.md"))]
    faults = [*dead_links(root, pages), *not_in_the_index(root), *unknown_messages(root)]
    print("\n".join(faults + ["%d pages, %d faults" % (len(pages), len(faults))]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
