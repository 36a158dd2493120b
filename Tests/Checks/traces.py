#!/usr/bin/env python3
"""What purl's traces become is what other tools take it for.

    python3 -B Tests/Checks/traces.py --purl .build/release/purl

`purl demo` is traced once. Its archive is read by haralyzer and validated against the JSON schemas of HAR 1.2 that Debian's
node-har-schema installs; in its packets tshark has to find the same requests, statuses and lengths, with right checksums.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from haralyzer import HarParser
from jsonschema import Draft6Validator
from referencing import Registry, Resource

SCHEMAS = Path("/usr/share/nodejs/har-schema/lib")


def main():
    parser = argparse.ArgumentParser(prog="traces")
    parser.add_argument("--purl", type=Path, required=True)
    purl = parser.parse_args().purl.resolve()
    with tempfile.TemporaryDirectory(prefix="purl-traces-") as name:
        folder = Path(name)
        run(purl, "demo", "--trace", folder / "demo.json")
        for form in ("har", "pcapng", "svg", "txt"):
            run(purl, "trace", folder / "demo.json", "-o", folder / f"demo.{form}")
        entries = check_archive(folder / "demo.har")
        check_packets(folder / "demo.pcapng", entries)
    print(f"{len(entries)} exchanges: the archive and the packets have the same.")


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, capture_output=True).stdout


def check_archive(path):
    archive = json.loads(path.read_text())
    for error in schema().iter_errors(archive):
        sys.exit(f"error: {error.json_path}: {error.message}")
    entries = archive["log"]["entries"]
    for entry in entries:
        # The handshake is a part of connecting.
        total = sum(time for phase, time in entry["timings"].items() if phase != "ssl" and time > 0)
        expect(abs(total - entry["time"]) < 0.001, f"the times of {entry['request']['url']} do not add up")
    found = HarParser(archive).har_data["entries"]
    answers = [entry["response"]["status"] for entry in found]
    expect_same(answers, [200, 206, 206], "haralyzer finds other responses")
    return entries


def schema():
    """The schema of an archive; the others are found by the names with which they refer to each other."""
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    registry = Registry().with_resources((name, Resource.from_contents(one)) for name, one in schemas.items())
    # Addresses have to be of one of two formats, which only a checker tells apart.
    return Draft6Validator(schemas["har.json"], registry=registry, format_checker=Draft6Validator.FORMAT_CHECKER)


def check_packets(path, entries):
    def fields(shown, *names):
        arguments = [word for name in names for word in ("-e", name)]
        lines = run("tshark", "-r", path, *options, "-Y", shown, "-T", "fields", *arguments).splitlines()
        return [tuple(line.split("\t")) for line in lines]

    # The kernel chooses the ports. Some of them tshark takes for those of another protocol, 57000 for one of IRC.
    port = urlsplit(entries[0]["request"]["url"]).port
    options = ["-d", f"tcp.port=={port},http", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    requests = [(entry["request"]["method"], "/" + entry["request"]["url"].split("/", 3)[3]) for entry in entries]
    statuses = [(str(entry["response"]["status"]),) for entry in entries]
    lengths = [entry["response"]["headersSize"] + entry["response"]["bodySize"] for entry in entries]
    expect_same(fields("http.request", "http.request.method", "http.request.uri"), requests, "tshark finds other requests")
    expect_same(fields("http.response", "http.response.code"), statuses, "tshark finds other statuses")
    received = {}
    for stream, length in fields("tcp.len > 0", "tcp.stream", "tcp.len"):
        received[stream] = received.get(stream, 0) + int(length)
    sent = [entry["request"]["headersSize"] for entry in entries]
    totals = [down + up for down, up in zip(lengths, sent)]
    expect_same(list(received.values()), totals, "tshark finds other lengths")
    expect_same(fields("ip.checksum.status == 0 || tcp.checksum.status == 0", "frame.number"), [], "a checksum is wrong")
    wrong = "tcp.analysis.flags && !tcp.analysis.reused_ports"
    expect_same(fields(wrong, "frame.number"), [], "a sequence number is wrong")


def expect(condition, sentence):
    if not condition:
        sys.exit(f"error: {sentence}")


def expect_same(found, expected, sentence):
    expect(found == expected, f"{sentence}: {found} instead of {expected}")


main()
