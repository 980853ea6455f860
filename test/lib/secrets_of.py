# SPDX-License-Identifier: Apache-2.0
"""Which secrets a server was started with, and whether its log has one of them. Every server that a test ends is
asked this, so that all suites together look at all lines.

    secrets_of.check(command, log_text)
"""
import os
import re

NAMES = re.compile(r"(?:password|superDigest|superPassword)$", re.I)
PATHS = re.compile(r"(?:passwordPath)$", re.I)
FILES = re.compile(r"(?:keyStore\.location|login\.config|sasl\.userFile)$")
SHORTEST = 6  # what is shorter is found in anything


def read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def of_file(text):
    """Lines of private keys, passwords of a JAAS file, those of a file of users."""
    for key in re.findall(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(.*?)-----END", text, re.S):
        yield from key.split()
    yield from re.findall(r"(?:user_\w+|password)\s*=\s*\"([^\"]+)\"", text)
    yield from re.findall(r"^[^\s#:={}\"]+:(\S.*)$", text, re.M)


def of_pair(name, value):
    if PATHS.search(name):
        yield read(value).strip()
    elif NAMES.search(name):
        yield value
    elif FILES.search(name):
        yield from of_file(read(value))


def of_command(command):
    for word in command:
        if word.startswith("-D") and "=" in word:
            yield from of_pair(*word[2:].split("=", 1))
        elif not word.startswith("-") and word.endswith(".cfg"):
            for line in read(word).splitlines():
                if "=" in line and not line.startswith("#"):
                    name, value = line.split("=", 1)
                    yield from of_pair(name.strip(), value.strip())


def check(command, log):
    for secret in set(of_command([str(word) for word in command])):
        if len(secret) >= SHORTEST and secret in log:
            line = next(x for x in log.splitlines() if secret.splitlines()[0] in x)
            raise AssertionError("a secret is in the log: %s" % line)
