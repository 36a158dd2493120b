"""What the programs that CI starts find around them."""

import os
import random
import socket
import subprocess
import time
from pathlib import Path


def environment(**changes):
    """This process's, without the proxies that the machine may have: everything happens on 127.0.0.1."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return kept | changes


def start(words, port):
    """The server, once it listens."""
    process = subprocess.Popen([str(word) for word in words], env=environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        if process.poll() is not None or time.monotonic() > deadline:
            stop(process)
            raise SystemExit(f"FAILED - {words[0]} does not listen")
        time.sleep(0.05)


def stop(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


GIVEN_PORTS = set()


def free_port():
    """A port that nothing listens on, and that the system gives to no program which asks for any port."""
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(first // 2, first)
        with socket.socket() as probe:
            if port not in GIVEN_PORTS and probe.connect_ex(("127.0.0.1", port)) != 0:
                GIVEN_PORTS.add(port)
                return port
