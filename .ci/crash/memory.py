"""A place for files that no disk slows down."""

import contextlib
import os
import tempfile
from pathlib import Path

import tmpfs

NEEDED = 4 << 30


@contextlib.contextmanager
def folder_in_memory(beside):
    """A tmpfs in the folder `beside`, or a folder in /dev/shm; None where there is neither."""
    with contextlib.ExitStack() as stack:
        yield mounted(beside / "memory", stack) or shared(stack)


def mounted(folder, stack):
    try:
        tmpfs.mount(folder, NEEDED)
    except tmpfs.NotPermitted:
        return None
    stack.callback(tmpfs.unmount, folder)
    return folder


def shared(stack):
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    if room.f_bavail * room.f_frsize < NEEDED:
        return None
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="purl-crash-", dir="/dev/shm")))
