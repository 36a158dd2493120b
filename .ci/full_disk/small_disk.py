"""A disk that is too small."""

import subprocess


class NotPermitted(Exception):
    """This user may mount nothing here."""


class SmallDisk:
    """A tmpfs of `size` bytes on `folder`, with a file on it that takes `filler` of them."""

    def __init__(self, folder, size, filler):
        self.folder = folder
        self.folder.mkdir()
        self.filler = folder / "filler"
        result = mount("-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder)
        if result.returncode != 0:
            raise NotPermitted(result.stderr.strip().partition("\n")[0])
        with open(self.filler, "wb") as file:
            file.write(b"x" * filler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--lazy", self.folder], check=False)
        self.folder.rmdir()

    def make_room(self):
        self.filler.unlink()

    def make_read_only(self):
        self._remount("ro")

    def make_writable(self):
        self._remount("rw")

    def _remount(self, mode):
        result = mount("-o", f"remount,{mode}", self.folder)
        if result.returncode != 0:
            raise RuntimeError(f"the small disk could not be made {mode}: {result.stderr.strip()}")


def mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
