# SPDX-License-Identifier: Apache-2.0
"""A relay between one client and its server that holds the answer to a request back."""
import socket
import struct
import threading

DELETE = 2


def read_frame(sock):
    """With its length in front; b"" at the end."""
    data = b""
    while len(data) < 4 or len(data) < 4 + struct.unpack(">i", data[:4])[0]:
        part = sock.recv(4 - len(data) if len(data) < 4 else 4 + struct.unpack(">i", data[:4])[0] - len(data))
        if not part:
            return b""
        data += part
    return data


class HeldAnswers:
    """`on_request` is called when the first request of this type has come; its answer, and all behind
    it, are held until the client sends something else. For requests that wait for one another."""

    def __init__(self, port, kind, on_request):
        self.kind, self.on_request, self.server_port = kind, on_request, port
        self.released = threading.Event()
        self.released.set()
        self.has_held = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        client, _ = self.listener.accept()
        server = socket.create_connection(("127.0.0.1", self.server_port))
        back = threading.Thread(target=self.answers, args=(server, client), daemon=True)
        back.start()
        self.requests(client, server)
        server.shutdown(socket.SHUT_WR)
        back.join()
        client.close()
        server.close()

    def requests(self, client, server):
        is_first = True  # the handshake has no type
        while True:
            frame = read_frame(client)
            self.released.set()
            if not frame:
                return
            if not is_first and not self.has_held and struct.unpack(">i", frame[8:12])[0] == self.kind:
                self.has_held = True
                self.released.clear()
                server.sendall(frame)
                self.on_request()
            else:
                server.sendall(frame)
            is_first = False

    def answers(self, server, client):
        while True:
            frame = read_frame(server)
            self.released.wait()
            if not frame:
                return
            try:
                client.sendall(frame)
            except OSError:
                return

    def close(self):
        self.listener.close()
