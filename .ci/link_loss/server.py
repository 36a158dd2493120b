"""A server for `link_loss`: a WebSocket gets one message, and then nothing; any other request gets a short page.

    python3 server.py ADDRESS PORT      prints a line at once, and another when it listens, after one has come in
"""

import base64
import hashlib
import socket
import sys
import threading

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def serve(connection):
    with connection, connection.makefile("rb") as lines:
        while True:
            head = {}
            for line in iter(lines.readline, b"\r\n"):
                if not line:
                    return
                name, _, value = line.partition(b":")
                head[name.strip().lower()] = value.strip()
            key = head.get(b"sec-websocket-key")
            if key is None:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
                continue
            accept = base64.b64encode(hashlib.sha1(key + MAGIC).digest())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n\x81\x05hello")
            connection.recv(1)
            return


def main():
    print("there", flush=True)
    sys.stdin.readline()
    with socket.create_server((sys.argv[1], int(sys.argv[2]))) as listener:
        print("listening", flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main()
