"""A file system in memory."""

import subprocess


class NotPermitted(Exception):
    """This user may mount nothing here."""


def mount(folder, size):
    """Makes the folder, with a file system of `size` bytes on it."""
    folder.mkdir()
    result = run("-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder)
    if result.returncode != 0:
        raise NotPermitted(result.stderr.strip().partition("\n")[0])


def remount(folder, mode):
    """`ro`, `rw`, or another size: `size=64m`."""
    result = run("-o", f"remount,{mode}", folder)
    if result.returncode != 0:
        raise RuntimeError(f"{folder} could not be made {mode}: {result.stderr.strip()}")


def unmount(folder):
    subprocess.run(["umount", "--lazy", folder], check=False)


def run(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
