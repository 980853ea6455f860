#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""book.py ROOT BUILD [PAGE...]: executes every block of shell commands in README.md and docs/*.md.

What a block is follows from the word behind its ```:

    sh           executed; all blocks of a page are one script, which must not fail
    console      lines "$ COMMAND" are executed, and what they print must be what stands below them; a
                 number stands for any number, a line "..." for any lines
    properties   a configuration: pawld --check must accept it
    (nothing)    a picture, or output: nothing in it may look like a command

A comment <!-- not run: why --> above a block leaves it out; only its syntax is looked at then. One with
<!-- file: NAME --> is written to that file of the page. C is compiled by test/tidy/snippets.py; what is built
here finds an installed libpawl.

The pages run in a network, a /tmp and a set of processes of their own: they may use ports and paths as
readers do, and nothing of it stays. Where the system does not allow that, the test is skipped."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SKIP = 77
INSIDE = "PAWL_BOOK_INSIDE"
PAGE_SECONDS = 900
# Of other languages; looked at by readers, or by other tests.
OTHERS = {"c", "c-zookeeper", "make", "cmake", "java", "python", "sql", "ini", "crontab", "json"}
LOOKS_LIKE_A_COMMAND = re.compile(r"^\s*(\$ |(sudo |build/bin/)?(pawld?|make|apt|systemctl|echo|export|curl|nc) )")
BLOCK = re.compile(r"^((?:<!--[^\n]*-->\n)?)```([^\n]*)\n(.*?)^```", re.M | re.S)


def files_of(text):
    """name: content, of the blocks that are a file."""
    return {m[1]: m[2] for m in re.finditer(r"^<!-- file: (\S+) -->\n```[^\n]*\n(.*?)^```", text, re.M | re.S)}


def blocks_of(text):
    """(line, language, body, why it is not run or None)"""
    for m in BLOCK.finditer(text):
        why = re.match(r"<!-- not run: (.*?) -->", m[1])
        yield text.count("\n", 0, m.start(2)) + 1, m[2].strip(), m[3], why[1] if why else None


def faults_of(path, text):
    """What is wrong with the page without running it."""
    for line, language, body, why in blocks_of(text):
        if language == "" and any(LOOKS_LIKE_A_COMMAND.match(l) for l in body.splitlines()):
            yield "%s:%d: commands in a block that is not marked sh or console" % (path, line)
        elif language not in OTHERS | {"", "sh", "console", "properties"}:
            yield "%s:%d: what is a block of '%s'?" % (path, line, language)
        elif language == "sh" and subprocess.run(["bash", "-n"], input=body, text=True).returncode != 0:
            yield "%s:%d: bash does not understand it" % (path, line)
        elif language == "python":
            compile(body, "%s:%d" % (path, line), "exec")
    for number, line in enumerate(re.sub(BLOCK, lambda m: "\n" * m[0].count("\n"), text).splitlines(), 1):
        if re.match(r"    (\$ |pawld? |echo )", line):
            yield "%s:%d: a command outside of a block" % (path, number)


def commands_of(body):
    """The lines "$ COMMAND" of a console, each with what is to be printed."""
    pairs = []
    for line in body.splitlines():
        if line.startswith("$ "):
            pairs.append((line[2:], []))
        elif pairs:
            pairs[-1][1].append(line)
    return pairs


def steps_of(text):
    """(line, script, expected lines or None) in the order of the page."""
    for line, language, body, why in blocks_of(text):
        if why is not None:
            continue
        if language == "sh":
            yield line, body, None
        elif language == "properties":
            yield line, "pawld --check /dev/stdin <<'END'\n%sEND\n" % body, None
        elif language == "console":
            for command, expected in commands_of(body):
                yield line, command + "\n", expected


def pattern_of(expected):
    lines = []
    for line in expected:
        lines.append(r"(?:.*\n)*?" if line.strip() == "..." else
                     re.sub(r"\d+", r"\\d+", re.escape(line)) + r"\s*?\n")
    return "".join(lines) + r"\s*"


def run_page(name, text, steps, build, work):
    """An explanation of what went wrong, or None. The output of each step follows a mark."""
    folder = work / name.replace("/", "-")
    folder.mkdir(parents=True)
    (folder / "build").symlink_to(build)
    for file, content in files_of(text).items():
        (folder / file).write_text(content)
    script = "set -e -o pipefail\n" + "".join(
        "printf '\\n@@%d\\n'\n%s" % (i, step[1]) for i, step in enumerate(steps))
    env = {k: v for k, v in os.environ.items() if not k.startswith("PAWL_")}
    env.update(PATH="%s/bin:%s" % (build, env["PATH"]), HOME=str(folder / "home"),
               LD_LIBRARY_PATH="%s/lib" % build, LC_ALL="C.UTF-8", PKG_CONFIG_PATH=installed_in(work))
    # A busy machine answers late.
    conf = folder / "home/.config/pawl/pawl.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("connect-timeout = 120s\n")
    with open(folder / "errors", "w+") as errors, open(folder / "output", "w+") as output:
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                 stdout=output, stderr=errors)
        try:
            status = shell.wait(PAGE_SECONDS)
        except subprocess.TimeoutExpired:
            status = "no end in %d s" % PAGE_SECONDS
        end_all()
        parts = re.split(r"^@@(\d+)\n", (folder / "output").read_text(), flags=re.M)
        told = dict(zip(map(int, parts[1::2]), parts[2::2]))
        if status != 0:
            last = max(told, default=0)
            return "line %d: %s\n%s\n%s%s" % (steps[last][0], status, steps[last][1], told.get(last, ""),
                                             (folder / "errors").read_text()[-4000:])
    for i, (line, command, expected) in enumerate(steps):
        if expected is not None and not re.fullmatch(pattern_of(expected), told[i]):
            return "line %d: %sprints\n%sinstead of\n%s" % (line, command, told[i], "\n".join(expected))
    return None


def installed_in(work):
    """Where pkg-config finds what `make install` has installed."""
    return ":".join(str(p.parent) for p in (work / "prefix").rglob("pawl.pc"))


def end_all():
    """Whatever is left of a page; we are the first process here, and all others are the page's."""
    demand_own_world()
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def world_of_this_process():
    """Names of the namespaces this process is in."""
    return " ".join(os.readlink("/proc/self/ns/" + kind) for kind in ("net", "mnt", "pid"))


def demand_own_world():
    """Ends the program unless it is process 1 of namespaces that enter_own_world() made: what it mounts would hide the
    reader's /tmp, and its kill(-1) would end whatever the reader runs. A variable that somebody has set proves nothing."""
    outside = os.environ.get(INSIDE, "").split()
    if os.getpid() != 1 or len(outside) != 3 or set(outside) & set(world_of_this_process().split()):
        sys.exit("book.py: %s is set, but these are not namespaces of its own: nothing is mounted or ended" % INSIDE)


def enter_own_world():
    """Starts this program again where it has a network, mounts and processes of its own."""
    for more in ([], ["--map-root-user"]):
        world = ["unshare", *more, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        tried = subprocess.run(world + ["sh", "-c", "ip link set lo up && mount -t tmpfs none /mnt"],
                               capture_output=True, text=True)
        if tried.returncode == 0:
            os.environ[INSIDE] = world_of_this_process()
            os.execvp(world[0], world + [sys.executable] + sys.argv)
    print("skipped: no namespaces of one's own here: %s" % tried.stderr.strip())
    sys.exit(SKIP)


def furnish(root, build):
    """/tmp is empty but for the sources and the build, if they are below it; they are known by their paths."""
    for command in (["ip", "link", "set", "lo", "up"], ["mount", "-t", "tmpfs", "none", "/mnt"],
                    ["mkdir", "/mnt/build", "/mnt/root"], ["mount", "--bind", str(build), "/mnt/build"],
                    ["mount", "--bind", str(root), "/mnt/root"], ["mount", "-t", "tmpfs", "none", "/tmp"]):
        subprocess.run(command, check=True)
    for path, kept in ((root, "/mnt/root"), (build, "/mnt/build")):
        if not path.exists():
            path.mkdir(parents=True)
            subprocess.run(["mount", "--bind", kept, str(path)], check=True)
    os.chdir("/tmp")
    return pathlib.Path("/mnt/build")


def main(root, build, only):
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    texts = {str(p.relative_to(root)): p.read_text() for p in pages}
    faults = [f for name, text in texts.items() for f in faults_of(name, text)]
    if faults:
        print("\n".join(faults))
        return 1
    if not os.environ.get(INSIDE):
        enter_own_world()
    demand_own_world()
    build = furnish(root, build)
    work = pathlib.Path(tempfile.mkdtemp(prefix="book-"))
    subprocess.run(["cmake", "--install", "/mnt/build", "--prefix", str(work / "prefix")], check=True,
                   stdout=subprocess.DEVNULL)
    wrong, n = 0, 0
    for name, text in texts.items():
        for line, _, _, why in blocks_of(text):
            if why:
                print("%s:%d: not run: %s" % (name, line, why))
        steps = list(steps_of(text))
        if not steps or only and name not in only:
            continue
        explanation = run_page(name, text, steps, build, work)
        n += len(steps)
        print("%s: %d steps, %s" % (name, len(steps), "good" if explanation is None else "FAILED at " + explanation),
              flush=True)
        wrong += explanation is not None
    print("%d steps, %d pages failed" % (n, wrong))
    return 1 if wrong or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]))
