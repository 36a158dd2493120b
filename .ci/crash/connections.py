"""`purl get --connections 8`, killed again and again at random moments.

    python3 -B .ci/crash/connections.py PURL [--rounds 40] [--seed 1]

Each run requests what is missing and nothing that is there: the bytes in the file that are right at the time of the kill are
compared with the ranges that the next run receives. The first connection of a run asks for everything behind the first gap,
and is closed when it comes to what is there: what the sockets hold by then is allowed. At the end the file has to be
identical, with nothing beside it.
"""

import argparse
import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
from surroundings import environment  # noqa: E402

SCRIPT = """
route /file
  generated 48M seed 1
  rate 1M
  etag "v1"

route /whole
  generated 48M seed 1
"""
PAGE = 4096
# What both ends' sockets hold of a response that is given up.
ON_ITS_WAY = 512 << 10


class Failed(Exception):
    """Something is not as it has to be. The message names it."""


def main():
    parser = argparse.ArgumentParser(prog="connections")
    parser.add_argument("purl", type=Path, help="the program")
    parser.add_argument("--rounds", type=int, default=40, help="kills (40)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what the delays follow")
    options = parser.parse_args()
    print(f"# seed {options.seed}: the same delays again with --seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="purl-crash-") as name:
        try:
            print(run(options.purl.resolve(), Path(name), options.rounds, random.Random(options.seed)))
        except Failed as failure:
            print(f"FAILED - {failure}")
            return 1
    return 0


def run(purl, folder, rounds, choices):
    script, home = folder / "server.script", folder / "downloads"
    script.write_text(SCRIPT)
    home.mkdir()
    server = subprocess.Popen([purl, "serve", script], env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url, whole = json.loads(server.stdout.readline())["urls"]
        content = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(whole, timeout=60).read()
        # What was there when each run began.
        present, kills = [], 0
        for number in range(rounds + 1):
            present.append(present_ranges(home / "file.part", content))
            # The run's number tells its requests from those of another one.
            run = subprocess.Popen(
                [purl, "get", "-q", "--connections", "8", "-H", f"X-Run: {number}", "-o", "file", url], cwd=home,
                env=environment(HOME=str(folder)), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                errors = run.communicate(timeout=choices.uniform(0.05, 0.5) if number < rounds else 120)[1]
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
                run.communicate()
                kills += 1
                continue
            if run.returncode != 0:
                raise Failed(f"ended with {run.returncode} after {kills} kills: {errors.strip()[-300:]}")
            break
    finally:
        server.send_signal(signal.SIGINT)
        log = server.communicate(timeout=30)[0]
    names = sorted(file.name for file in home.iterdir())
    if names != ["file"]:
        raise Failed(f"left {names}")
    if hashlib.sha256((home / "file").read_bytes()).digest() != hashlib.sha256(content).digest():
        raise Failed("the file is not what the server has")
    requests = [json.loads(line) for line in log.splitlines()]
    sent = check(requests, present, len(content))
    return f"{kills} kills, {len(requests)} requests, {sent / len(content):.3f} times the file's size sent, none of it again"


def check(requests, present, length):
    """Compares each range with what was there before; returns how many bytes have been sent."""
    sent = 0
    for request in requests:
        fields = {name.lower(): value for name, value in request["fields"].items()}
        if "x-run" not in fields:
            continue
        sent += request["bodyBytesSent"]
        start, end = re.fullmatch(r"bytes=(\d+)-(\d*)", fields.get("range", "bytes=0-")).groups()
        start, is_open = int(start), not end
        stop = min(start + request["bodyBytesSent"], length if is_open else int(end) + 1)
        again = sum(max(0, min(stop, high) - max(start, low)) for low, high in present[int(fields["x-run"])])
        if again > (ON_ITS_WAY if is_open else 0):
            raise Failed(f"run {fields['x-run']} received {again} bytes of {fields.get('range')} that were there")
    return sent


def present_ranges(file, content):
    """The pages of a file that are right, adjacent ones as one range; less than a page is not told from chance."""
    ranges = []
    data = file.read_bytes() if file.exists() else b""
    for start in range(0, len(data), PAGE):
        page = data[start:start + PAGE]
        if page == content[start:start + len(page)]:
            if ranges and ranges[-1][1] == start:
                ranges[-1][1] = start + len(page)
            else:
                ranges.append([start, start + len(page)])
    return ranges


sys.exit(main())
