#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SASL with DIGEST-MD5 between us and others: Apache's zkCli.sh, kazoo and pawl on pawld as on Apache's server, from the
same JAAS file; what each of them may do, and what they are told, is the same on both."""
import os
import shutil
import subprocess
import sys
import tempfile

import servers

PATIENCE = 300
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
USERS = {"bob": "geheim \\\"own\\\" password", "admin": "geheim b", "super": "geheim"}
SERVER = "Server {\n  %s required\n%s;\n};\n" % (
    MODULE, "\n".join('  user_%s="%s"' % pair for pair in USERS.items()))


def client_section(user, password):
    return 'Client {\n  %s required\n  username="%s"\n  password="%s";\n};\n' % (MODULE, user, password)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, 0o600)
    return path


class Apache(servers.ApacheServer):
    def command(self):
        command = super().command()
        return command[:1] + ["-Djava.security.auth.login.config=" + self.jaas] + command[1:]


class Pawld(servers.PawlServer):
    def file_settings(self):
        return dict(super().file_settings(), **{"java.security.auth.login.config": self.jaas})


def java(port, jaas, *words):
    """What zkCli.sh says, as the client that a JAAS file has; None: as nobody."""
    jars = [os.path.join(servers.JAR_FOLDER, jar) for jar in ("zookeeper.jar", "slf4j-nop.jar", "commons-cli.jar")]
    login = ["-Djava.security.auth.login.config=" + jaas] if jaas else []
    command = (["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"] + login
               + ["-cp", ":".join(jars), "org.apache.zookeeper.ZooKeeperMain",
                  "-waitforconnection", "-timeout", "60000", "-server", "127.0.0.1:%d" % port, *words])
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    return done.stdout + done.stderr


def pawl(port, login, *words, option="--jaas", fails=False):
    binary = os.path.join(os.path.dirname(os.environ.get("PAWLD") or "build/bin/pawld"), "pawl")
    command = [binary, "-C", "%ds" % PATIENCE, "-T", "60s", "-s", "127.0.0.1:%d" % port, option, login, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
    if (done.returncode != 0) != fails:
        sys.exit("%s\nended with %d: %s" % (" ".join(command), done.returncode, done.stderr))
    return done.stderr if fails else done.stdout


def kazoo_ids(port, user, password):
    from kazoo.client import KazooClient
    from kazoo.security import make_acl
    client = KazooClient(hosts="127.0.0.1:%d" % port, timeout=60,
                         sasl_options={"mechanism": "DIGEST-MD5", "username": user, "password": password})
    client.start(timeout=PATIENCE)
    client.create("/kazoo", b"x", acl=[make_acl("auth", "", all=True)])
    acls = client.get_acls("/kazoo")[0]
    client.delete("/kazoo")
    client.stop()
    client.close()
    return [(a.id.scheme, a.id.id) for a in acls]


def check(what, good, found=""):
    print("%s: %s" % (what, "good" if good else "WRONG\n" + str(found)), flush=True)
    if not good:
        sys.exit(1)


def lines_of(said, *parts):
    return [line for line in said.splitlines() if any(part in line for part in parts)]


def try_server(kind, port, folder):
    """All that clients see, to be compared."""
    bob = write(folder, "bob.conf", client_section("bob", USERS["bob"]))
    admin = write(folder, "admin.conf", client_section("admin", USERS["admin"]))
    wrong = write(folder, "wrong.conf", client_section("bob", "geheim guess"))
    seen = {}
    said = java(port, bob, "create", "/hers", "hello", "sasl:bob:cdrwa")
    check("zkCli on %s creates as bob" % kind, "Created /hers" in said, said)
    check("zkCli on %s is told" % kind, "state:SaslAuthenticated" in said, said)
    seen["acl"] = lines_of(java(port, bob, "getAcl", "/hers"), "sasl", ": cdrwa")
    check("its ACL on " + kind, any("bob" in line for line in seen["acl"]), seen["acl"])
    check("bob reads on " + kind, "hello" in java(port, bob, "get", "/hers"))
    check("the super user reads on " + kind, "hello" in java(port, admin, "get", "/hers"))
    seen["nobody"] = lines_of(java(port, None, "get", "/hers"), "permission", "NoAuth", "Insufficient")
    check("nobody may not on " + kind, len(seen["nobody"]) > 0)
    said = java(port, wrong, "get", "/hers")
    seen["wrong"] = lines_of(said, "AuthFailed", "AUTH_FAILED")
    check("a wrong password on " + kind, "hello" not in said and "state:AuthFailed" in said, said)
    seen["pawl"] = ["".join(sorted(pawl(port, bob, "whoami").splitlines(True))), pawl(port, bob, "get", "/hers"), pawl(port, bob, "acl", "get", "/hers")]
    check("pawl on " + kind, "sasl:bob" in seen["pawl"][0] and seen["pawl"][1] == "hello", seen["pawl"])
    said = pawl(port, bob, "bench", "-y", "-c", "2", "-n", "20", "sessions")
    check("many sessions of one process on " + kind, "20" in said and "failed" not in said, said)
    login = write(folder, "login", "bob:%s\n" % USERS["bob"].replace("\\", ""))
    check("pawl, from a plain file, on " + kind, pawl(port, login, "get", "/hers", option="--sasl") == "hello")
    check("pawl with a wrong password on " + kind, "does not accept our name and password" in
          pawl(port, wrong, "-C", "5s", "get", "/hers", fails=True))
    seen["kazoo"] = kazoo_ids(port, "bob", USERS["bob"].replace("\\", ""))
    check("kazoo on " + kind, seen["kazoo"] == [("sasl", "bob")], seen["kazoo"])
    return seen


def main():
    folder = tempfile.mkdtemp(prefix="pawl-sasl-")
    config = {"authProvider.1": "org.apache.zookeeper.server.auth.SASLAuthenticationProvider", "superUser": "admin"}
    seen = {}
    try:
        for kind, make in (("apache", Apache), ("pawld", Pawld)):
            server = make(config=config)
            server.jaas = write(folder, "server.conf", SERVER)
            with server:
                seen[kind] = try_server(kind, server.port, folder)
                log = server.log_text()
            check("no password in the log of " + kind, "geheim" not in log, log)
        check("the same on both", seen["apache"] == seen["pawld"], seen)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
