"""The servers that `tls` tries purl against: nginx with TLS, openssl's s_server, and sockets of Python's that misbehave."""

import socket
import ssl
import subprocess
import threading

from report import wait_until
from servers import Nginx
from surroundings import free_port


class SecureNginx(Nginx):
    """nginx with TLS, a folder that takes uploads, a WebSocket server behind it, and a plain port that redirects."""

    def __init__(self, folder, documents, rate, certificate, websockets=None, options=""):
        self.certificate = certificate
        self.websockets = websockets
        self.options = options
        self.plain_port = free_port()
        super().__init__(folder, documents, rate)

    def url(self, path, scheme="https"):
        return super().url(path).replace("http://127.0.0.1", f"{scheme}://localhost")

    def plain_url(self, path):
        return f"http://localhost:{self.plain_port}/{path}"

    def configuration(self):
        behind = "" if self.websockets is None else f"""
        location /echo {{
            proxy_pass http://127.0.0.1:{self.websockets}/;
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection upgrade;
        }}"""
        secure = f"""
        listen 127.0.0.1:{self.port} ssl;
        ssl_certificate {self.certificate};
        ssl_certificate_key {self.certificate};
        {self.options or "ssl_protocols TLSv1.2 TLSv1.3;"}
        access_log {self.folder}/tls.log tls;
        access_log {self.log_file} fields;
        location /uploads/ {{
            dav_methods PUT;
            client_max_body_size 0;
        }}{behind}"""
        plain = f"""
    server {{
        listen 127.0.0.1:{self.plain_port};
        location / {{ return 301 https://localhost:{self.port}$request_uri; }}
    }}
}}
"""
        text = super().configuration().replace(f"\n        listen 127.0.0.1:{self.port};", secure)
        text = text.replace("    log_format", "    log_format tls '$ssl_protocol $ssl_session_reused $connection';\n"
                            "    log_format", 1)
        return text.rstrip()[:-1] + plain

    def handshakes(self):
        """Version and whether a session was resumed, of each request in the log."""
        lines = (self.folder / "tls.log").read_text().splitlines()
        return [tuple(line.split()[:2]) for line in lines]


class OpenSSLServer:
    """`openssl s_server`, which serves the files of its folder."""

    def __init__(self, folder, certificate, *options):
        self.folder = folder
        self.port = free_port()
        self.words = ["openssl", "s_server", "-accept", f"127.0.0.1:{self.port}", "-cert", certificate, "-WWW", "-quiet",
                      *options]
        self.process = None

    def url(self, path):
        return f"https://localhost:{self.port}/{path}"

    def __enter__(self):
        self.process = subprocess.Popen([str(word) for word in self.words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: is_listening(self.port), "s_server to listen")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Misbehaving:
    """A listener that gives each connection to a function, in a thread."""

    def __init__(self, serve):
        self.serve = serve
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def url(self, path):
        return f"https://localhost:{self.port}/{path}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.handle, args=[connection], daemon=True).start()

    def handle(self, connection):
        try:
            with connection:
                self.serve(connection)
        except OSError:
            pass  # The client has left: that is what these servers are for.

    def __exit__(self, *_):
        self.listener.close()


def secured(certificate, serve, configure=lambda context: None):
    """Serves over TLS of Python's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    configure(context)

    def handle(connection):
        with context.wrap_socket(connection, server_side=True) as stream:
            serve(stream)

    return Misbehaving(handle)


def read_head(stream):
    head = b""
    while b"\r\n\r\n" not in head:
        piece = stream.recv(4096)
        if not piece:
            return
        head += piece


def is_listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

