#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""amalgamate.py ROOT OUT: the client half of libpawl (client and recipes) as two files, OUT/pawl.c and OUT/pawl.h.

For those who keep the sources of others in their own tree: compile pawl.c with yours, and link zlib, jansson,
OpenSSL (libssl and libcrypto: TLS is in it, asked for or not) and pthread; of cyrus-sasl, which is loaded when it is
asked for, the headers are needed. The head of pawl.c has the line. Everything but pawl_* has the prefix pawl__ there. What it cannot do is to host local:DIR or a server (<pawl/server.h>,
<pawl/ensemble.h>); it can use a local:DIR that somebody else hosts.

How: all system headers first, then every header of ours once, then one source after the other. What two
sources call by the same name (static functions, variables, types, constants) gets the name of its file behind
it; macros of a source are forgotten at its end. The layout of .clang-format is relied upon: whatever begins a
declaration begins a line."""
import collections
import pathlib
import re
import sys

LAYERS = ("base", "os", "tls", "sasl", "wire", "client", "recipes")
LEFT_OUT = {"pawl/server.h", "pawl/ensemble.h", "pawl/pawl.h"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">][^\n]*\n', re.M)
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|\s+|->|.', re.S)
SYSTEM = {"immintrin.h": "#if defined(__x86_64__)\n#include <%s>\n#endif\n"}
# Static functions may have these names in a file that does not include their header; here all are included.
OF_THE_SYSTEM = set("""accept bind clock close connect dial dup exit fork free index kill link listen log open pause poll
read recv remove rename select send shutdown signal sleep sync time truncate unlink wait write""".split())
HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* %s - libpawl %s, client and recipes, in one piece. Made by scripts/amalgamate.py: do not edit.
 * To be linked with: -lz -ljansson -lssl -lcrypto -lpthread */
"""


def blank(text):
    """Without comments and texts, line by line as before."""
    keep = lambda m: re.sub(r"[^\n]", " ", m[0])
    text = re.sub(r"/\*.*?\*/|//[^\n]*", keep, text, flags=re.S)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', keep, text)


def top_level(text):
    """The text with everything inside braces, and directives, left out."""
    out, depth = [], 0
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", blank(text), flags=re.M)
    for c in text:
        depth += c == "{"
        if depth == 0 or c == "{" and depth == 1:
            out.append(c)
        depth -= c == "}"
        if c == "}" and depth == 0:
            out.append("}")
    return "".join(out)


def functions_and_variables(text):
    """name: is it static, for what a source defines at file level."""
    found = {}
    for line in re.findall(r"^(?=[a-z_A-Z])[^\n]*(?:\n(?![{}a-zA-Z_\n])[^\n]*)*(?:\n\{)?", top_level(text), re.M):
        static = bool(re.match(r"(?:_Thread_local )?static\b|__attribute__\(\(\w+\)\) static\b", line))
        if re.match(r"(typedef|extern|struct \w+;|enum \w+;|union \w+;)", line):
            continue
        line = re.sub(r"__attribute__\(\(.*?\)\)|_Static_assert\(.*?\);", "", line, flags=re.S)
        function = re.match(r"[^=;{]*?\b(\w+)\(", line)
        variable = re.match(r"[^=;({]*?(\w+)(?:\[[^]]*\])*(?: =|;)", line) or re.match(r"[^=;(]*\{\}?\s*(\w+)", line)
        if function and not re.match(r"[^(]*=", line):
            found[function[1]] = static or found.get(function[1], False)
        elif variable and not line.startswith(("struct %s {" % variable[1], "enum %s {" % variable[1])):
            found[variable[1]] = static
    return found


def types_and_constants(text):
    code = blank(text)
    for tag in re.findall(r"^(?:static (?:const )?|typedef )?(?:struct|enum|union) (\w+) \{", code, re.M):
        yield "tag", tag
    for body in re.findall(r"^(?:static )?enum(?: \w+)? \{([^}]*)\}", code, re.M):
        for name in re.findall(r"(?:^|,)\s*(\w+)\s*(?==|,|$)", body.strip()):
            yield "constant", name
    for name in re.findall(r"^typedef [^;{]*?\(\*(\w+)\)", code, re.M):
        yield "name", name
    for name in re.findall(r"^typedef [^;({]*\b(\w+);", code, re.M):
        yield "name", name


def macros(text):
    return set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", blank(text), re.M))


class Headers:
    """Of ours, each once, in the order in which they are needed; and those of the system."""

    def __init__(self, root):
        self.folders = (root / "src", root / "include")
        self.system, self.public, self.ours, self.seen = [], [], [], set()

    def find(self, name):
        return next((f / name for f in self.folders if (f / name).exists()), None)

    def take(self, text):
        """`text` without its includes, which are taken along."""
        def replace(m):
            path = self.find(m[2])
            if path is None:
                if m[2] not in self.system:
                    self.system.append(m[2])
                return ""
            if path.suffix == ".def":
                return path.read_text()
            if m[2] not in self.seen and m[2] not in LEFT_OUT:
                self.seen.add(m[2])
                body = self.take(path.read_text())
                (self.public if "include" in path.parts[-3:] else self.ours).append((m[2], body))
            return ""
        return INCLUDE.sub(replace, text)


def renamed(text, names, tags):
    """Every use of the names; not the fields that are called the same. Tags behind struct, enum, union only."""
    out, before = [], ""
    for token in TOKEN.findall(text):
        if token in names and before not in (".", "->"):
            out.append(names[token])
        elif token in tags and before in ("struct", "enum", "union"):
            out.append(tags[token])
        else:
            out.append(token)
        if not token.isspace() and not token.startswith(("/*", "//")):
            before = token
    return "".join(out)


def amalgamate(root):
    headers = Headers(root)
    for path in sorted((root / "include/pawl").glob("*.h")):
        headers.take('#include "pawl/%s"\n' % path.name)
    sources = [(p.relative_to(root / "src"), headers.take(p.read_text()))
               for layer in LAYERS for p in sorted((root / "src" / layer).rglob("*.c"))]
    count = collections.Counter()
    of_headers = {x for _, text in headers.ours + headers.public for x in types_and_constants(text)}
    for _, text in sources:
        count.update({("name", n) for n in functions_and_variables(text)} | set(types_and_constants(text)))
    count.update(of_headers)
    defined = {n for _, text in sources for n, static in functions_and_variables(text).items() if not static}
    parts = ["#define %s pawl__%s\n" % (n, n) for n in sorted(defined) if not n.startswith("pawl_") and n != "main"]
    parts += ["\n/* ---- %s ---- */\n%s" % (name, without_licence(text)) for name, text in headers.ours]
    for path, text in sources:
        suffix = "__" + re.sub(r"\W", "_", str(path.with_suffix("")))
        own = {n for n, static in functions_and_variables(text).items() if static and (count["name", n] > 1 or n in OF_THE_SYSTEM)}
        own |= {n for kind, n in types_and_constants(text) if kind != "tag" and count[kind, n] > 1}
        tags = {n: n + suffix for kind, n in types_and_constants(text) if kind == "tag" and count[kind, n] > 1}
        body = renamed(without_licence(text), {n: n + suffix for n in own}, tags)
        parts.append("\n/* ---- %s ---- */\n%s%s" % (path, body, "".join(
            "#undef %s\n" % m for m in sorted(macros(text)) if not m.startswith(("_GNU", "_POSIX")))))
    return headers, parts


def without_licence(text):
    text = re.sub(r"^/\* SPDX-License-Identifier: Apache-2.0 \*/\n", "", text)
    return re.sub(r"^#define _(GNU|POSIX_C)_SOURCE[^\n]*\n", "", text, flags=re.M)


def main(root, out):
    version = re.search(r'PAWL_VERSION +"(.*)"', (root / "include/pawl/version.h").read_text())[1]
    headers, parts = amalgamate(root)
    out.mkdir(parents=True, exist_ok=True)
    public_system = [s for s in headers.system if any("<%s>" % s in p.read_text()
                                                      for p in (root / "include/pawl").glob("*.h"))]
    (out / "pawl.h").write_text(
        HEAD % ("pawl.h", version) + "#ifndef PAWL_AMALGAMATION_H\n#define PAWL_AMALGAMATION_H\n\n"
        + "".join("#include <%s>\n" % s for s in sorted(public_system))
        + "".join("\n/* ---- %s ---- */\n%s" % (name, without_licence(text)) for name, text in headers.public)
        + "\n#endif\n")
    (out / "pawl.c").write_text(
        HEAD % ("pawl.c", version) + "#define _GNU_SOURCE\n" + '#include "pawl.h"\n\n'
        + "".join(SYSTEM.get(s, "#include <%s>\n") % s for s in headers.system) + "\n" + "".join(parts))
    print("%s: %d lines of C, %d of header" % (out, (out / "pawl.c").read_text().count("\n"),
                                               (out / "pawl.h").read_text().count("\n")))
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])))
