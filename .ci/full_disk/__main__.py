"""Downloads to a disk that gets full in the middle, and checks that they resume once there is room.

    python3 -B .ci/full_disk --subject .build/debug/CrashSubject --purl .build/release/purl

A file of 6 MiB meets a tmpfs of 8 MiB that holds 4 MiB already. The download has to fail for want of room, and to keep
what it has; tried again at once it has to fail in the same way; where nothing is held open the disk then turns
read-only for one more attempt; and with the 4 MiB out of the way only the missing bytes may be asked for, and the file
has to be identical. The download manager and `purl get` reserve the room for the whole file first: they have to fail before the
first byte.

Mounting takes root. Where that is not permitted the script prints so and does nothing. The exit status is 1 when something
failed.
"""

import argparse
import errno
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

# What the scripts share, and the server, which is that of the crash script.
CI = Path(__file__).resolve().parent.parent
sys.path += [str(CI), str(CI / "crash")]
from downloads import CANNOT_CREATE, CANNOT_OPEN, CANNOT_WRITE, PurlDownload, SubjectDownload  # noqa: E402
from server import Server, digest_of_file  # noqa: E402
from small_disk import SmallDisk  # noqa: E402
from tmpfs import NotPermitted  # noqa: E402

MIB = 1 << 20
RATE = 20_000_000


class CheckFailed(Exception):
    """Something is not as it has to be. The message names it."""


def main():
    options = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failures = 0
    with tempfile.TemporaryDirectory(prefix="purl-full-disk-") as name, Server(options.subject, RATE) as server:
        print(f"{'':24}{'had when full':>14}{'after 2nd try':>14}{'asked for':>26}{'s':>6}", flush=True)
        for title, kind in KINDS.items():
            try:
                failures += not survives(title, kind, options, server, Path(name) / "disk")
            except NotPermitted as reason:
                print(f"Skipped: nothing may be mounted here ({reason}).")
                return 0
    return 1 if failures else 0


def parse_arguments():
    parser = argparse.ArgumentParser(prog="full_disk", description="Downloads to a disk that gets full.")
    parser.add_argument("--subject", type=Path, required=True, help="the program CrashSubject")
    parser.add_argument("--purl", type=Path, required=True, help="the program purl")
    options = parser.parse_args()
    for program in (options.subject, options.purl):
        if not program.is_file():
            parser.error(f"there is no program {program}")
    return options


# The mode of CrashSubject, if it is not purl; whether the room for a file is reserved before its first byte; whether the disk can
# turn read-only between two attempts.
KINDS = {
    "download task": ("task", False, True),
    "background session": ("session", False, False),
    "file handle sink": ("sink", False, True),
    "download manager": ("manager", True, True),
    "purl get": (None, True, True),
    "purl get, 8 connections": (None, True, True),
}


def survives(title, kind, options, server, folder):
    """Tries one kind of download; prints its line of the table."""
    began = time.monotonic()
    mode, reserves, can_be_read_only = kind
    file = server.add_file(6 * MIB)
    with SmallDisk(folder, 8 * MIB, 4 * MIB) as disk:
        if mode:
            download = SubjectDownload(options.subject, mode, folder, file.url)
        else:
            download = PurlDownload(options.purl, folder, file.url, 8 if "8" in title else 1)
        try:
            if reserves:
                figures = run_reserving(download, disk, server, file)
            else:
                figures = run(download, disk, server, file, can_be_read_only)
        except (CheckFailed, RuntimeError) as failure:
            print(f"{title:24} FAILED - {failure}; asked for {server.ranges(file)}", flush=True)
            return False
        finally:
            download.close()
    print(f"{title:24}{figures}{time.monotonic() - began:6.1f}", flush=True)
    return True


def run(download, disk, server, file, can_be_read_only):
    full = download.first()
    expect_failure(full, {CANNOT_WRITE}, errno.ENOSPC, "on the full disk")
    expect(2 * MIB < full.recorded <= 4 * MIB, f"on the full disk {full.recorded} bytes are on record")

    again = download.again()
    expect_failure(again, {CANNOT_WRITE}, errno.ENOSPC, "still on the full disk")
    expect(again.recorded >= full.recorded, f"the second attempt lost {full.recorded - again.recorded} bytes")
    expect_range(server, file, full.recorded)

    if can_be_read_only:
        disk.make_read_only()
        attempt = download.again()
        disk.make_writable()
        expect_failure(attempt, {CANNOT_CREATE, CANNOT_OPEN, CANNOT_WRITE}, errno.EROFS, "on the read-only disk")
        expect(attempt.recorded == again.recorded, f"read-only, {attempt.recorded} bytes are on record")

    disk.make_room()
    last = download.again()
    expect(last.file, f"with room: {last}")
    expect(digest_of_file(last.file) == file.digest, "the file is not what the server has")
    expect_range(server, file, again.recorded)
    missing = file.size - again.recorded
    # It counts what it has sent already.
    deadline = time.monotonic() + 10
    while (sent := server.ranges(file)[-1][1]) < missing and time.monotonic() < deadline:
        time.sleep(0.01)
    expect(sent == missing, f"{sent} bytes were sent instead of the {missing} missing ones")
    return f"{full.recorded:14}{again.recorded:14}{f'bytes={again.recorded}-':>26}"


def run_reserving(download, disk, server, file):
    """The full disk is found out at once: nothing is written that would be lost."""
    for when, attempt_one in (("on the full disk", download.first), ("still on the full disk", download.again)):
        attempt = attempt_one()
        expect_failure(attempt, {CANNOT_WRITE}, errno.ENOSPC, when)
        expect(attempt.recorded == 0, f"{when} {attempt.recorded} bytes are on record")
    disk.make_read_only()
    attempt = download.again()
    disk.make_writable()
    expect_failure(attempt, {CANNOT_CREATE, CANNOT_OPEN, CANNOT_WRITE}, errno.EROFS, "on the read-only disk")
    disk.make_room()
    last = download.again()
    expect(last.file, f"with room: {last}")
    expect(digest_of_file(last.file) == file.digest, "the file is not what the server has")
    return f"{0:14}{0:14}{server.ranges(file)[-1][0]:>26}"


def expect_failure(attempt, codes, number, when):
    expect(not attempt.file, f"{when}: no failure")
    if attempt.code is None:
        expect(os.strerror(number) in attempt.sentence, f"{when}: it printed {attempt.sentence!r}")
    else:
        seen = f"error {attempt.code} over {attempt.errno}"
        expect(attempt.code in codes and attempt.errno == number, f"{when}: {seen}")


def expect_range(server, file, start):
    """The last request asked for the bytes from `start` on."""
    asked = server.ranges(file)[-1][0]
    expect(asked == f"bytes={start}-", f"{asked} was asked for instead of bytes={start}-")


def expect(condition, otherwise):
    if not condition:
        raise CheckFailed(otherwise)


sys.exit(main())
