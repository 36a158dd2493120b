"""Two `purl get` of one file at once, again and again.

    python3 -B .ci/crash/pairs.py PURL [ROUNDS]

The server is slow, cuts the connection, or both. Each round must end with one file, whole, with no partial file beside it,
and with two sensible exits: at least one 0; the other 0 too, or 1 with a sentence that says who has the file.
"""

import hashlib
import http.server
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

CONTENT = random.Random(7).randbytes(400_000)
SENSIBLE = ("is being written by another transfer", "exists already")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, is_slow, cuts):
        super().__init__(("127.0.0.1", 0), Handler)
        self.is_slow, self.cuts, self.lock = is_slow, cuts, threading.Lock()

    def handle_error(self, *_):
        """A client that is refused may leave at any time."""

    def takes_cut(self):
        with self.lock:
            self.cuts -= 1
            return self.cuts >= 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        asked = self.headers.get("Range")
        start = int(asked[len("bytes="):-1]) if asked and self.headers.get("If-Range") == '"v1"' else 0
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"v1"')
        self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        if self.server.takes_cut():
            body, self.close_connection = body[: len(body) // 3], True
        try:
            for offset in range(0, len(body), 50_000):
                self.wfile.write(body[offset : offset + 50_000])
                self.wfile.flush()
                if self.server.is_slow:
                    time.sleep(0.005)
        except OSError:
            self.close_connection = True


def play(purl, number, generator):
    """One round; returns what is wrong with it."""
    server = Server(is_slow=generator.random() < 0.6, cuts=generator.choice([0, 0, 1, 2]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = ["--retry", "5"] + generator.choice([[], ["-o", "film"], ["-o", "film", "--no-resume"], ["--no-resume"]])
    with tempfile.TemporaryDirectory() as folder:
        ends = []
        for _ in range(2):
            ends.append(subprocess.Popen(
                [purl, "get", "-q", f"http://127.0.0.1:{server.server_port}/film"] + options, cwd=folder,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
            if generator.random() < 0.5:
                time.sleep(generator.random() * 0.08)
        texts = [end.communicate(timeout=60)[0].strip() for end in ends]
        server.shutdown()
        server.server_close()
        codes = [end.returncode for end in ends]
        faults = []
        if sorted(os.listdir(folder)) != ["film"]:
            faults.append(f"left {sorted(os.listdir(folder))}")
        elif hashlib.sha256(open(os.path.join(folder, "film"), "rb").read()).digest() != hashlib.sha256(CONTENT).digest():
            faults.append("the file is not what the server has")
        if 0 not in codes:
            faults.append("none succeeded")
        for code, text in zip(codes, texts):
            if code != 0 and not (code == 1 and any(sentence in text for sentence in SENSIBLE)):
                faults.append(f"exit {code}: {text}")
    return [f"round {number} {options}: {fault}" for fault in faults], codes


def main():
    purl, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200
    generator, faults, yielded = random.Random(11), [], 0
    for number in range(rounds):
        found, codes = play(purl, number, generator)
        faults += found
        yielded += codes != [0, 0]
    print("\n".join(faults[:20]))
    print(f"pairs: {rounds} rounds, {yielded} with one that yielded, {len(faults)} faults")
    sys.exit(1 if faults else 0)


main()
