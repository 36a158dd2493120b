"""Many uploads to SwiftNIO's NIOResumableUpload, interrupted again and again: by a lost connection, by SIGKILL."""

import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from client import digest
from report import expect, megabytes, wait_until


class UploadServer:
    """The program of `Tests/Peers`. It keeps what was uploaded in `folder`."""

    def __init__(self, program, folder):
        self.folder = folder
        self.folder.mkdir()
        self.process = subprocess.Popen(
            [program, str(folder)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        words = self.process.stdout.readline().split()
        expect(len(words) == 2 and words[0] == "port", f"the server printed {words}")
        self.port = int(words[1])
        self.completed = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.completed.append(line.strip())

    def kill(self):
        self.process.kill()
        self.process.wait()


class Meddler:
    """A proxy that passes on what the client sends, in order, up to a number of bytes; then something happens.

    The number counts over all connections, and again from 0 after each interruption.

    An upload that the server has not offered to resume starts over, and the client gives up after a few such attempts.
    So that happens so many times in a row at most: the next interruption waits for a connection with an answer that is not a
    refusal of the protocol's version.
    """

    PIECE = 65_536
    UNANSWERED = 2

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.lock = threading.Lock()
        self.left = None
        self.action = None
        self.passed = 0
        self.unanswered = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, count, action):
        """After `count` more bytes from the client, `action(client, server)` is called, once."""
        with self.lock:
            self.left, self.action = count, action

    def disarm(self):
        self.arm(None, None)

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        server = socket.create_connection(self.target)
        answered = threading.Event()
        threading.Thread(target=self.pass_back, args=[server, client, answered], daemon=True).start()
        try:
            while data := client.recv(self.PIECE):
                with self.lock:
                    action = None
                    if self.left is not None:
                        data = data[:self.left]
                        self.left -= len(data)
                        if self.left == 0:
                            action, self.left, self.action = self.action, None, None
                    self.passed += len(data)
                server.sendall(data)
                if action and self.unanswered == self.UNANSWERED and not answered.wait(1):
                    self.arm(self.PIECE, action)
                elif action:
                    self.unanswered = 0 if answered.is_set() else self.unanswered + 1
                    action(client, server)
                    return
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            close(client, server)

    def pass_back(self, server, client, answered):
        try:
            while data := server.recv(self.PIECE):
                client.sendall(data)
                if not data.startswith(b"HTTP/1.1 400 "):
                    answered.set()
        except OSError:
            pass
        finally:
            close(client, server)


def close(*sockets):
    for end in sockets:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        end.close()


class InterruptedUploads:
    """Uploads one file under many names until so many interruptions have happened, and what has to be true of them."""

    def __init__(self, purl, server, folder, random, size=12_000_000):
        self.purl = purl
        self.server = server
        self.random = random
        self.size = size
        self.meddler = Meddler(server.port)
        self.source = folder / "upload.bin"
        self.source.write_bytes(random.randbytes(size))
        self.record = folder / "upload.bin.upload"
        self.expected = digest(self.source)
        self.cuts = 0
        self.kills = 0

    def upload(self, interruptions):
        began = time.monotonic()
        number = runs = 0
        while self.cuts + self.kills < interruptions:
            number += 1
            runs += self.upload_one(f"upload-{number}", interruptions)
        sent = self.meddler.passed
        return (f"{number} uploads of {megabytes(self.size)} in {runs} runs, {self.cuts} cuts and {self.kills} kills, "
                f"{sent / self.size / number:.2f} times the content sent, {time.monotonic() - began:.1f} s")

    def upload_one(self, name, interruptions):
        """Runs purl until the upload is complete, and returns how often."""
        url = f"http://127.0.0.1:{self.meddler.port}/{name}"
        for runs in range(1, 60):
            run = self.purl.start("put", "-q", self.source, url, "--retry", "3")
            self.plan(run, interruptions)
            outcome = run.wait(60)
            self.meddler.disarm()
            if outcome.code == 0:
                break
            # Only what this script does may end a run; a server that has lost an upload makes purl start over.
            expect(outcome.code == -signal.SIGKILL, f"{name}: exit code {outcome.code}; it printed {outcome.errors!r}")
        expect(outcome.code == 0, f"{name}: not complete after {runs} runs")
        expect(not self.record.exists(), f"{name}: the record is left")
        stored = self.server.folder / name
        wait_until(stored.exists, f"the server to store {name}")
        expect(digest(stored) == self.expected, f"{name}: the server has other content")
        # The server prints it after it has renamed the file.
        wait_until(lambda: f"{name} {self.size}" in self.server.completed, f"the server to report {name}")
        stored.unlink()
        return runs

    def plan(self, run, interruptions):
        """Arms the next interruption of a run, unless there have been enough."""
        if self.cuts + self.kills >= interruptions:
            return
        count = self.random.randint(1, self.size // 2)

        def cut(client, server):
            self.cuts += 1
            # Before the connection is lost: the client comes back at once.
            self.plan(run, interruptions)
            if self.random.random() < 0.5:
                reset(client)
            close(client, server)

        def kill(client, server):
            self.kills += 1
            os.kill(run.process.pid, signal.SIGKILL)
            close(client, server)

        self.meddler.arm(count, self.random.choice([cut, cut, kill]))


def reset(client):
    """Makes the connection end with a reset."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    client.close()


def check_uploads(report, purl, program, folder, random, interruptions=200):
    server = UploadServer(Path(program), folder / "uploads")
    try:
        uploads = InterruptedUploads(purl, server, folder, random)
        report.check(
            f"NIOResumableUpload: interrupted {interruptions} times, every upload is identical", uploads.upload,
            interruptions)
    finally:
        server.kill()
