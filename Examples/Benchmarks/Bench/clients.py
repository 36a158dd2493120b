"""The programs that are measured."""

import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Where `.ci/run install_websockets` puts the Python libraries.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PYTHON = CACHE / "purl-ci" / "websockets-2" / "bin" / "python3"


class Clients:
    def __init__(self, runners, purl_folder):
        self.runners = runners
        self.purl = str(purl_folder / "purl") if purl_folder else None
        self.websocket_libraries = [name for name in ("websockets", "aiohttp") if has_module(name)]

    def swift(self, *words):
        """The same workload with each library."""
        return {
            "Purl": self.runner("PurlRunner", *words),
            "AsyncHTTPClient": self.runner("AsyncHTTPClientRunner", *words),
            "FoundationNetworking": self.runner("FoundationRunner", *words),
        }

    def runner(self, name, *words):
        return [str(self.runners / name), *map(str, words)]

    def raw(self, way, web, path, file):
        return self.runner("RawLimit", way, "127.0.0.1", web.port, path, file)

    def websockets(self, *words):
        """The echo workload with the Python libraries that are there."""
        return {
            library: [str(PYTHON), str(HERE / "websocket_client.py"), library, *map(str, words)]
            for library in self.websocket_libraries}


def has_module(name):
    command = [PYTHON, "-c", f"import {name}"]
    return PYTHON.exists() and subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0
