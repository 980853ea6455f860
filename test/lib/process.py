# SPDX-License-Identifier: Apache-2.0
"""A server as a process, for all tests and benchmarks: started with its log in a file, stopped as an
administrator would, killed, looked at."""
import signal
import subprocess

from patience import PATIENCE_SECONDS


class ServerProcess:
    name = "server"
    exit_code = 0  # after SIGTERM

    def __init__(self, log_path):
        self.log_path = log_path
        self.process = None

    def spawn(self, command, stdout=None, **popen):
        """Its standard error goes to the log, and its standard output, unless that is wanted."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=log if stdout is None else stdout, stderr=log,
                                            **popen)

    @property
    def pid(self):
        return self.process.pid if self.process else None

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def wait(self, timeout=PATIENCE_SECONDS):
        """Until it ends; its exit code."""
        return self.process.wait(timeout)

    def terminate(self):
        """SIGTERM; returns the exit code. A server that does not stop is an error."""
        if self.process is None:
            return None
        if self.running():
            self.signal(signal.SIGTERM)
        try:
            return self.wait()
        except subprocess.TimeoutExpired:
            self.kill9()
            raise self.error("ignored SIGTERM for %d s" % PATIENCE_SECONDS) from None

    def end(self):
        """Stops it; an error if it had died before, or ends badly."""
        if not self.running():
            raise self.error("has died")
        code = self.terminate()
        if code != self.exit_code:
            raise self.error("ended with %s" % code)

    def kill9(self):
        if self.process is not None:
            if self.running():
                self.process.kill()
            self.process.wait()

    def error(self, what):
        return RuntimeError("%s %s; %s ends with:\n%s"
                            % (self.name, what, self.log_path, self.log_text()[-3000:]))

    def log_text(self):
        try:
            with open(self.log_path, errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def rss_kb(self):
        with open("/proc/%d/status" % self.pid) as f:
            for line in f:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        raise self.error("has no memory")
