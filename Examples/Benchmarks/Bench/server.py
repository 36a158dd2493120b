"""What the clients talk to."""

import asyncio
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request

CONFIGURATION = """
worker_processes 1;
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
daemon off;
user {user};
events {{ worker_connections 30000; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    client_max_body_size 0;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/temp; fastcgi_temp_path {folder}/temp; uwsgi_temp_path {folder}/temp;
    scgi_temp_path {folder}/temp;
    default_type application/octet-stream;
    server {{
        listen 127.0.0.1:{port} backlog=20000;
        include {folder}/files.conf;
    }}
    server {{
        listen 127.0.0.1:{secure_port} ssl;
        include {folder}/tls.conf;
        include {folder}/files.conf;
    }}
    server {{
        listen 127.0.0.1:{forgetful_port} ssl;
        ssl_session_tickets off;
        ssl_session_cache off;
        include {folder}/tls.conf;
        include {folder}/files.conf;
    }}
}}
"""
TLS = """
        ssl_certificate {folder}/server.pem;
        ssl_certificate_key {folder}/server.pem;
        ssl_protocols TLSv1.3;
"""
FILES = """
        root {folder}/www;
        # A cache would otherwise answer in the place of the server.
        add_header Cache-Control no-store;
        # Each request takes a connection of its own.
        location /once/ {{
            alias {folder}/www/;
            keepalive_timeout 0;
        }}
        location /chunked/ {{
            alias {folder}/www/;
            # Content that is filtered has no length beforehand.
            sub_filter_types *;
            sub_filter "what is in no file" "";
            sub_filter_once on;
        }}
        # With the 16 KiB it takes by default the server alone would be measured.
        location /put/ {{ dav_methods PUT; client_body_buffer_size 1m; }}
"""


class WebServer:
    """nginx with one worker, a small file, a big one, one of a quarter of its bytes, and two of text."""

    port = 18199
    secure_port = 18200
    # Its sessions cannot be resumed.
    forgetful_port = 18201

    def __init__(self, folder, size):
        self.folder = folder
        self.size = size
        self.url = f"http://127.0.0.1:{self.port}"
        self.secure_url = f"https://localhost:{self.secure_port}"
        self.forgetful_url = f"https://localhost:{self.forgetful_port}"
        # Its certificate is its own root.
        self.root = folder / "root.pem"
        self.big_file = folder / "www" / "big"

    def __enter__(self):
        for name in ("www", "www/put", "body", "temp"):
            (self.folder / name).mkdir()
        (self.folder / "www" / "small").write_bytes(os.urandom(1024))
        block = os.urandom(1 << 20)
        with open(self.big_file, "wb") as file:
            for _ in range(self.size >> 20):
                file.write(block)
        with open(self.folder / "www" / "quarter", "wb") as file:
            for _ in range(self.size >> 22):
                file.write(block)
        # Five million short lines; and as many bytes in several scripts.
        (self.folder / "www" / "ascii").write_text("".join(f"{number}\n" for number in range(5_000_000)))
        mixed = "".join(f"{number}: Grüße aus 東京, Привет 🎉 and plain words\n" for number in range(1000))
        (self.folder / "www" / "mixed").write_text(mixed * (40_000_000 // len(mixed.encode())), encoding="utf-8")
        self.make_certificate()
        configuration = self.folder / "nginx.conf"
        user = "root" if os.geteuid() == 0 else "nobody"
        configuration.write_text(CONFIGURATION.format(
            folder=self.folder, port=self.port, secure_port=self.secure_port, forgetful_port=self.forgetful_port,
            user=user))
        for name, text in [("tls.conf", TLS), ("files.conf", FILES)]:
            (self.folder / name).write_text(text.format(folder=self.folder))
        program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
        self.process = subprocess.Popen([program, "-c", configuration, "-p", self.folder], stderr=subprocess.DEVNULL)
        wait_for(f"{self.url}/small")
        return self

    def make_certificate(self):
        key = self.folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-keyout", key, "-out", self.root, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
            check=True, stderr=subprocess.DEVNULL)
        (self.folder / "server.pem").write_text(key.read_text() + self.root.read_text())

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


class HoldingServer:
    """Lets its clients wait until as many have come as it expects, and answers them all."""

    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK"

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.expected = 0
        self.waiting = []
        # Called when all have come.
        self.when_all_wait = None

    def __enter__(self):
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=20000, limit=4096))
        self.url = "http://127.0.0.1:{}/".format(self.server.sockets[0].getsockname()[1])
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def expect(self, count, when_all_wait):
        self.expected = count
        self.when_all_wait = when_all_wait
        self.waiting = []

    async def serve(self, reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            self.waiting.append(writer)
            if len(self.waiting) == self.expected:
                self.when_all_wait()
                for other in self.waiting:
                    other.write(self.answer)
            await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        writer.close()


class EventServer:
    """Sends server-sent events to one client, each when the client has printed the one before."""

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(3)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        return self

    def __exit__(self, *_):
        self.listener.close()

    def round_trips(self, output, count):
        """Seconds from each event to its line on `output`; fewer than `count` when the client has ended."""
        try:
            connection, _ = self.listener.accept()
        except TimeoutError:
            return []
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.recv(65536)
            connection.sendall(self.head)
            seconds = []
            for number in range(count):
                began = time.monotonic()
                event = b"data: %d\n" % number
                connection.sendall(event + b"\n")
                # An event ends in an empty line, which a client may print too.
                line = output.readline()
                while line == b"\n":
                    line = output.readline()
                if line != event:
                    break
                seconds.append(time.monotonic() - began)
        return seconds


class EchoServer:
    """A WebSocket server that costs little beside its clients."""

    def __init__(self, program):
        self.program = program

    def __enter__(self):
        self.process = subprocess.Popen([self.program], stdout=subprocess.PIPE, text=True)
        self.url = f"ws://127.0.0.1:{int(self.process.stdout.readline())}/"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def wait_for(url):
    for _ in range(200):
        try:
            return urllib.request.urlopen(url).read()
        except OSError:
            time.sleep(0.05)
    raise SystemExit("nginx did not start")
