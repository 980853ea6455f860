# SPDX-License-Identifier: Apache-2.0
"""Between a client and its server: stops at a request, so that something can happen before it."""
import socket
import struct
import threading

from patience import PATIENCE_SECONDS

MULTI = 14


class Interposer:
    """Passes everything on; `before(op, frame)` runs before a request of the client goes to the server."""

    def __init__(self, port, before):
        self.before = before
        self.server_port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.sockets = [self.listener]
        self.threads = []
        self.begin(self.accept)

    def begin(self, target, *args):
        thread = threading.Thread(target=self.until_closed, args=(target,) + args, daemon=True)
        self.threads.append(thread)
        thread.start()

    @staticmethod
    def until_closed(target, *args):
        try:
            target(*args)
        except OSError:
            pass  # one of the two has hung up, or the test is over

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            server = socket.create_connection(("127.0.0.1", self.server_port))
            self.sockets += [client, server]
            self.begin(self.pass_requests, client, server)
            self.begin(self.pass_answers, server, client)

    def pass_requests(self, client, server):
        with client.makefile("rb") as requests:
            is_first = True
            while True:
                head = requests.read(4)
                if len(head) < 4:
                    server.shutdown(socket.SHUT_WR)
                    return
                frame = requests.read(struct.unpack(">i", head)[0])
                if not is_first:  # that one is the handshake
                    self.before(struct.unpack(">i", frame[4:8])[0], frame)
                is_first = False
                server.sendall(head + frame)

    @staticmethod
    def pass_answers(server, client):
        while True:
            part = server.recv(65536)
            if not part:
                client.shutdown(socket.SHUT_WR)
                return
            client.sendall(part)

    def close(self):
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
