#!/usr/bin/env python3
"""Writes the symbol graphs of the libraries: every public symbol with its declaration and comment, as the compiler knows them.

    python3 -B .ci/symbol_graphs.py --modules .build/debug/Modules FOLDER

FOLDER then has a folder for each library. `.ci/documentation` checks them; the reference of `Examples/Learning/site` is made
of them.
"""

import argparse
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ["Purl", "PurlTLS", "PurlDownloads", "PurlTesting", "PurlTrace", "PurlSimulation"]


def extract(library, modules, folder):
    """Puts a library's symbol graphs into a folder, which is made."""
    target = json.loads(subprocess.check_output(["swiftc", "-print-target-info"], text=True))["target"]["triple"]
    folder.mkdir(parents=True, exist_ok=True)
    command = ["swift-symbolgraph-extract", "-module-name", library, "-target", target, "-sdk", "/"]
    command += ["-minimum-access-level", "public", "-output-dir", str(folder), "-I", str(modules)]
    for headers in sorted(ROOT.glob("Sources/*/include")):
        command += ["-I", str(headers)]
    subprocess.run(command, check=True)


def main():
    parser = argparse.ArgumentParser(prog="symbol_graphs")
    parser.add_argument("--modules", type=Path, required=True, help="where the build put the modules")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    for library in LIBRARIES:
        extract(library, options.modules, options.folder / library)


if __name__ == "__main__":
    main()
