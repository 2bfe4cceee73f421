# SPDX-License-Identifier: Apache-2.0
"""Stands in front of a server and keeps what clients send to it, byte for byte."""
import socket
import threading


class Tee:
    """tee = Tee(port of the server); clients go to tee.port; tee.streams() is what each connection brought."""

    def __init__(self, port):
        self.upstream = port
        self.kept, self.lock = [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream), timeout=60)
            except OSError:
                return
            server.settimeout(None)
            stream = bytearray()
            with self.lock:
                self.kept.append(stream)
            threading.Thread(target=_pump, args=(client, server, stream), daemon=True).start()
            threading.Thread(target=_pump, args=(server, client, None), daemon=True).start()

    def streams(self):
        with self.lock:
            return [bytes(stream) for stream in self.kept]

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def _pump(source, target, kept):
    try:
        while data := source.recv(1 << 16):
            if kept is not None:
                kept += data
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
