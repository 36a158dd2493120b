"""The servers that purl is tried against: nginx, lighttpd, Apache and Python's http.server, all on 127.0.0.1."""

import functools
import http.server
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from urllib.parse import quote

from report import CheckFailed, wait_until
from surroundings import free_port

# Debian keeps servers outside an ordinary user's PATH.
SEARCH_PATH = "/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin"


@dataclass
class LoggedRequest:
    """One line of a server's access log. A field that was not sent is "-"."""

    status: int
    body_bytes_sent: int
    range: str
    content_range: str
    path: str


class WebServer:
    """A server program in the foreground as a child process, with a configuration and a log of its own.

    It serves `documents`, and what lies in its folder "slow" at `rate` bytes per second and connection.
    """

    name = ""
    # What may be on its way between the server and the file when a download ends.
    in_flight = 0

    def __init__(self, folder, documents, rate):
        self.folder = folder / self.name
        self.folder.mkdir()
        self.documents = documents
        self.rate = rate
        self.port = free_port()
        self.process = None
        self.log_file = self.folder / "access.log"
        self.configuration_file = self.folder / "server.conf"
        self.configuration_file.write_text(self.configuration())

    def configuration(self):
        raise NotImplementedError

    def arguments(self):
        raise NotImplementedError

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{quote(path)}"

    def start(self):
        program = shutil.which(self.name, path=SEARCH_PATH)
        if program is None:
            raise CheckFailed(f"{self.name} is not installed")
        output = open(self.folder / "output.txt", "ab")
        with output:
            self.process = subprocess.Popen(
                [program, *self.arguments()], stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        wait_until(lambda: self.is_listening(), f"{self.name} to listen")

    def is_listening(self):
        if self.process.poll() is not None:
            raise CheckFailed(f"{self.name} ended at once: {(self.folder / 'output.txt').read_text()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        """SIGKILL: what a crash or a power cut looks like to a client. Requests under way never reach the log."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def flush_log(self):
        """Makes the server write what it holds back of its log."""

    def requests(self):
        """All requests that ended so far, oldest first."""
        self.flush_log()
        if not self.log_file.exists():
            return []
        lines = self.log_file.read_text().splitlines()
        return [parse_log_line(line) for line in lines if line.count("\t") == 4]

    def wait_for_requests(self, count):
        wait_until(lambda: len(self.requests()) >= count, f"request {count} in the log of {self.name}", pause=0.02)
        return self.requests()


def parse_log_line(line):
    status, sent, range_field, content_range, path = line.split("\t")
    return LoggedRequest(int(status), int(sent) if sent.isdigit() else 0, range_field, content_range, path)


class Nginx(WebServer):
    name = "nginx"
    in_flight = 512 * 1024

    def arguments(self):
        return ["-p", str(self.folder), "-c", str(self.configuration_file)]

    def configuration(self):
        # Small chunks make nginx pause after each instead of sending a second's worth at once.
        return f"""
daemon off;
master_process off;
pid {self.folder}/nginx.pid;
error_log {self.folder}/error.log;
events {{ worker_connections 4096; }}
http {{
    client_body_temp_path {self.folder}/body;
    proxy_temp_path {self.folder}/proxy;
    fastcgi_temp_path {self.folder}/fastcgi;
    uwsgi_temp_path {self.folder}/uwsgi;
    scgi_temp_path {self.folder}/scgi;
    log_format fields '$status\t$body_bytes_sent\t$http_range\t$sent_http_content_range\t$uri';
    access_log {self.log_file} fields;
    server {{
        listen 127.0.0.1:{self.port};
        root {self.documents};
        sendfile on;
        location /slow/ {{
            sendfile_max_chunk 256k;
            limit_rate {self.rate};
        }}
        location = /moved {{ return 301 /plain.bin; }}
    }}
}}
"""


class Lighttpd(WebServer):
    name = "lighttpd"
    # It sends each second's share at once, as much as the socket buffers take.
    in_flight = 4 * 1024 * 1024

    def arguments(self):
        return ["-D", "-f", str(self.configuration_file)]

    def configuration(self):
        # Files of no known type would be sent without an ETag.
        return f"""
server.modules = ( "mod_accesslog" )
server.document-root = "{self.documents}"
server.bind = "127.0.0.1"
server.port = {self.port}
server.errorlog = "{self.folder}/error.log"
server.stat-cache-engine = "disable"
mimetype.assign = ( "" => "application/octet-stream" )
accesslog.filename = "{self.log_file}"
accesslog.format = "%s\t%b\t%{{Range}}i\t%{{Content-Range}}o\t%U"
$HTTP["url"] =~ "^/slow/" {{ connection.kbytes-per-second = {self.rate // 1024} }}
"""

    def flush_log(self):
        # It keeps its log in memory for seconds, but opens the file anew, and so writes first, when hung up on.
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGHUP)


class Apache(WebServer):
    name = "apache2"
    # Where Debian keeps them.
    modules = "/usr/lib/apache2/modules"

    def arguments(self):
        # One process: others would outlive a SIGKILL.
        return ["-X", "-f", str(self.configuration_file)]

    def configuration(self):
        # Started by root it reads as another user.
        user = "User nobody\nGroup nogroup" if os.geteuid() == 0 else ""
        return f"""
LoadModule mpm_event_module {self.modules}/mod_mpm_event.so
LoadModule authz_core_module {self.modules}/mod_authz_core.so
ServerName 127.0.0.1
Listen 127.0.0.1:{self.port}
PidFile {self.folder}/apache2.pid
DefaultRuntimeDir {self.folder}
ErrorLog {self.folder}/error.log
DocumentRoot {self.documents}
{user}
LogFormat "%>s\t%B\t%{{Range}}i\t%{{Content-Range}}o\t%U" fields
CustomLog {self.log_file} fields
"""


class PythonServer:
    """Python's http.server, which knows no ranges, slowed down to `rate` bytes per second."""

    def __init__(self, documents, rate):
        self.statuses = []
        handler = functools.partial(SlowHandler, directory=str(documents), rate=rate, statuses=self.statuses)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}/{quote(path)}"

    def start(self):
        self.thread.start()

    def kill(self):
        self.server.shutdown()
        self.server.server_close()


class SlowHandler(http.server.SimpleHTTPRequestHandler):
    CHUNK = 65_536

    def __init__(self, *arguments, rate, statuses, **keywords):
        self.rate = rate
        self.statuses = statuses
        super().__init__(*arguments, **keywords)

    def copyfile(self, source, output):
        try:
            while chunk := source.read(self.CHUNK):
                output.write(chunk)
                time.sleep(len(chunk) / self.rate)
        except ConnectionError:
            pass  # The client was interrupted: that is what this server is for.

    def log_request(self, code="-", size="-"):
        self.statuses.append(int(code))

    def log_message(self, *arguments):
        pass
