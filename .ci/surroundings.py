"""What the programs that CI starts find around them."""

import os
import socket
import subprocess
import time


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


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
