"""A disk that is too small."""

import tmpfs


class SmallDisk:
    """A tmpfs of `size` bytes on `folder`, with a file on it that takes `filler` of them."""

    def __init__(self, folder, size, filler):
        self.folder = folder
        self.filler = folder / "filler"
        tmpfs.mount(folder, size)
        with open(self.filler, "wb") as file:
            file.write(b"x" * filler)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        tmpfs.unmount(self.folder)
        self.folder.rmdir()

    def make_room(self):
        self.filler.unlink()

    def make_read_only(self):
        tmpfs.remount(self.folder, "ro")

    def make_writable(self):
        tmpfs.remount(self.folder, "rw")
