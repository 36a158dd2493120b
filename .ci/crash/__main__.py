"""Kills programs that download, at random moments, and looks whether the files arrive all the same.

    python3 -B .ci/crash --subject .build/debug/CrashSubject [--rounds 100] [--seed 1]

Three files come at the same time from a server of its own on 127.0.0.1: into background sessions (half of the rounds
each with downloads that resume by themselves and with resume data), then into a download manager. Every round starts the
program and sends it SIGKILL after a random time; after the last one it may run to its end. Each request that follows a
kill has to start exactly where the file ends. At the end the files have to be identical, nothing may be left behind, and
the server must have sent less than 1.1 times their sizes. Then the manager loses power ten times instead: it finds another
boot each time, and the bytes overwritten that had not been synchronised; its requests have to start where the others end.

How much a kill loses depends on how long the disk takes to make bytes safe, which is not what is tested here. So the
files lie in memory, of which 4 GB are needed for a while; where that cannot be had they lie in the temporary directory,
and how much the server sent is only printed. Either is gone afterwards. The exit status is 1 when something failed; a way
that missed nothing but a figure is tried once more.
"""

import argparse
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

# What the scripts share.
sys.path.append(str(Path(__file__).resolve().parent.parent))
from memory import folder_in_memory  # noqa: E402
from ordeal import FigureMissed, Ordeal, OrdealFailed  # noqa: E402
from remains import Boot  # noqa: E402
from server import Server  # noqa: E402
from ways import WAYS  # noqa: E402


def main():
    options = parse_arguments()
    print(f"# seed {options.seed}: the same delays again with --seed {options.seed}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done within {options.limit} s"))
    signal.alarm(options.limit)
    began = time.monotonic()
    failures = 0
    print(f"{'':40}{'kills':>6}{'hits':>6}{'MB':>8}{'MB sent':>9}{'ratio':>8}{'s':>7}", flush=True)
    with tempfile.TemporaryDirectory(prefix="purl-crash-") as name, folder_in_memory(Path(name)) as memory:
        if memory is None:
            print("# on a disk, whose speed decides how much is sent twice", flush=True)
        with Server(options.subject, options.rate) as server:
            for way in WAYS:
                if way.loses_power and not Boot(Path(name)).is_feigned:
                    print(f"# {way.name}: left out, this user may mount nothing", flush=True)
                elif way.words[0] in options.only:
                    failures += not survives(way, server, memory, Path(name), options)
    print(f"{time.monotonic() - began:.0f} s", flush=True)
    return 1 if failures else 0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="crash", description="Kills programs that download, at random moments.")
    parser.add_argument("--subject", type=Path, required=True, help="the program CrashSubject")
    parser.add_argument("--rounds", type=int, default=100, help="kills of each kind (100)")
    parser.add_argument("--pause", type=float, default=0.4, help="seconds between two kills, on average (0.4)")
    parser.add_argument("--rate", type=int, default=20_000_000, help="bytes per second of each file (20000000)")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000), help="what the delays follow")
    parser.add_argument("--limit", type=int, default=250, help="seconds that all may take (250)")
    parser.add_argument("--only", nargs="+", default=["session", "manager"], help="kinds to try (session manager)")
    options = parser.parse_args()
    if not options.subject.is_file():
        parser.error(f"there is no program {options.subject}")
    return options


def survives(way, server, memory, folder, options):
    """Tries one way, a second time if it has to be."""
    # A power loss takes what was not synchronised yet, and so may a slow disk.
    most = 1.1 if memory and not way.loses_power else float("inf")
    for attempt in ("first", "second"):
        failure = attempted(Ordeal(options.subject, server, way, memory or folder, most), attempt, options)
        if not isinstance(failure, FigureMissed):
            break
    return failure is None


def attempted(ordeal, attempt, options):
    """Prints a line of the table; returns what failed."""
    rounds = max(1, round(options.rounds * ordeal.way.share))
    pause = options.pause * ordeal.way.patience
    choices = random.Random(f"{options.seed} {ordeal.way.name} {attempt}")
    failure = None
    try:
        ordeal.run([choices.uniform(0, 2 * pause) for _ in range(rounds)], options.rate)
    except OrdealFailed as error:
        failure = error
    size = sum(file.size for file in ordeal.files)
    print(
        f"{ordeal.way.name:40}{ordeal.kills:6}{ordeal.hits:6}{size / 1e6:8.0f}{ordeal.bytes / 1e6:9.0f}"
        f"{ordeal.ratio:8.3f}{ordeal.seconds:7.1f}", flush=True)
    if failure:
        print(f"FAILED - {failure}", flush=True)
    return failure


sys.exit(main())
