"""Servers that limit the rate of each connection."""

import os
import re
import selectors
import shutil
import socket
import subprocess
import threading
import time

from server import wait_for

MB = 1_000_000

CONFIGURATION = """
worker_processes 1;
pid {folder}/nginx-{port}.pid;
error_log {folder}/nginx-{port}.log;
daemon off;
user {user};
events {{ worker_connections 1000; }}
http {{
    log_format ranges '$status "$http_range" $body_bytes_sent';
    access_log {log} ranges;
    sendfile on;
    tcp_nopush on;
    client_body_temp_path {folder}/temp; proxy_temp_path {folder}/temp; fastcgi_temp_path {folder}/temp;
    uwsgi_temp_path {folder}/temp; scgi_temp_path {folder}/temp;
    default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/www;
        add_header Cache-Control no-store;
        {limit}
    }}
}}
"""


class LimitedServer:
    """nginx that sends each connection so many megabytes a second, or as many as it can; with `together`, the limit is shared
    by the eight connections that one client opens."""

    def __init__(self, folder, megabytes, together=False, port=18210):
        self.folder, self.port = folder, port
        self.log = folder / f"access-{port}.log"
        self.url = f"http://127.0.0.1:{port}/big"
        # nginx has no limit for several connections together: each gets its share of it.
        rate = megabytes * MB // (8 if together else 1)
        self.limit = f"limit_rate {rate};" if rate else ""

    def __enter__(self):
        configuration = self.folder / f"nginx-{self.port}.conf"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, port=self.port, log=self.log, limit=self.limit,
            user="root" if os.geteuid() == 0 else "nobody"))
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([program, "-c", configuration, "-p", self.folder], stderr=subprocess.DEVNULL)
        (self.folder / "www" / "small").write_bytes(b"x")
        wait_for(f"http://127.0.0.1:{self.port}/small")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def requests(self):
        """The first byte that each request asked for, the one behind its last, and how many were sent."""
        size = os.stat(self.folder / "www" / "big").st_size
        found = []
        for line in self.log.read_text().splitlines():
            status, asked, sent = re.fullmatch(r'(\d+) "(.*)" (\d+)', line).groups()
            if status not in ("200", "206") or int(sent) == 1:
                continue
            start, end = re.fullmatch(r"bytes=(\d+)-(\d*)", asked).groups() if asked != "-" else ("0", "")
            found.append((int(start), int(end) + 1 if end else size, int(sent)))
        return found


class FallingServer:
    """Sends each connection `rate` bytes a second, until it has sent `limit` of all together: from then on one of those that
    are under way gets `slow` bytes a second, for as long as it is open."""

    # A connection gets its bytes at such intervals.
    tick = 0.02

    def __init__(self, file, rate, slow, limit):
        self.file, self.rate, self.slow, self.limit = file, rate, slow, limit
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/big"
        self.size = os.stat(file).st_size
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        with self.lock:
            self.sent, self.fallen = 0, None

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with connection, open(self.file, "rb") as file:
            # What is sent and not read must not hide the rate.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 19)
            try:
                while head := self.head(connection):
                    self.respond(connection, file, head)
            except OSError:
                pass

    def head(self, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            data = connection.recv(4096)
            if not data:
                return None
            head += data
        return head.decode("latin-1")

    def respond(self, connection, file, head):
        asked = re.search(r"(?im)^range: bytes=(\d+)-(\d*)", head)
        start = int(asked[1]) if asked else 0
        end = min(int(asked[2]) + 1, self.size) if asked and asked[2] else self.size
        fields = f"Content-Length: {end - start}\r\nETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
        if asked:
            fields += f"Content-Range: bytes {start}-{end - 1}/{self.size}\r\n"
        status = "206 Partial Content" if asked else "200 OK"
        connection.sendall(f"HTTP/1.1 {status}\r\n{fields}\r\n".encode())
        if head.startswith("HEAD"):
            return
        began, given, rate = time.monotonic(), 0, self.rate
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            while start + given < end:
                # A client that has closed the connection gets no more.
                if selector.select(0) and not connection.recv(1, socket.MSG_PEEK):
                    return
                if rate == self.rate and self.falls(connection):
                    began, given, start, rate = time.monotonic(), 0, start + given, self.slow
                due = int((time.monotonic() - began + self.tick) * rate) - given
                if due > 0:
                    count = os.sendfile(connection.fileno(), file.fileno(), start + given, min(due, end - start - given))
                    given += count
                    with self.lock:
                        self.sent += count
                time.sleep(self.tick)

    def falls(self, connection):
        with self.lock:
            if self.fallen is None and self.sent >= self.limit:
                self.fallen = connection
            return self.fallen is connection
