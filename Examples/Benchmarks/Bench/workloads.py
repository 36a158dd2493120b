"""What is measured, and by what commands."""

from dataclasses import dataclass
from typing import Callable

CURL = ["curl", "-s", "-S", "--fail"]


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    # The figure that counts: "rate", "seconds", "memory" or "waiting".
    figure: str
    # (clients, web, holding, folder) -> the command of each client
    commands: Callable
    rounds: int | None = None
    # All transfers wait for each other.
    holds: bool = False


def small(count, concurrency):
    def commands(clients, web, holding, folder):
        url = f"{web.url}/small"
        # For a client that was compiled for speed alone the time decides, not the count.
        wrk = ["wrk", "-t1", f"-c{concurrency}", "-d3s", url]
        every = clients.swift("small", url, count, concurrency)
        if concurrency == 1:
            every["curl"] = [*CURL, "-o", "/dev/null", f"{url}?[1-{count}]"]
        return every | {"wrk": wrk}

    return commands


def many(concurrency):
    return lambda clients, web, holding, folder: {
        "Purl": clients.runner("PurlRunner", "small", f"{web.url}/small", 40000, concurrency)}


def download(clients, web, holding, folder):
    file = folder / "out"
    return clients.swift("download", f"{web.url}/big", file) | {
        "curl": [*CURL, "-o", str(file), f"{web.url}/big"],
        "splice": clients.raw("download", web, "/big", file)}


def chunked(clients, web, holding, folder):
    file = folder / "out"
    url = f"{web.url}/chunked/big"
    return clients.swift("download", url, file) | {"curl": [*CURL, "-o", str(file), url]}


def upload(clients, web, holding, folder):
    url = f"{web.url}/put/big"
    return clients.swift("upload", url, web.big_file) | {
        "curl": [*CURL, "-T", str(web.big_file), url],
        "sendfile": clients.raw("upload", web, "/put/big", web.big_file)}


def pieces(pause):
    return lambda clients, web, holding, folder: clients.swift("pieces", f"{web.url}/big", pause)


def waiting(clients, web, holding, folder):
    every = clients.swift("waiting", holding.url, 10000)
    # It takes a descriptor limit and minutes that it does not have.
    del every["FoundationNetworking"]
    return every


def start(clients, web, holding, folder):
    file = folder / "out"
    return {
        "Purl": [clients.purl, "get", f"{web.url}/small", "-o", str(file)],
        "curl": [*CURL, "-o", str(file), f"{web.url}/small"]}


WORKLOADS = [
    Workload("small-1", "GET 1 KB, one after another", "rate", small(20000, 1)),
    Workload("small-64", "GET 1 KB, 64 at once", "rate", small(60000, 64)),
    Workload("download", "1 GiB to a file", "seconds", download),
    Workload("delegate", "1 GiB to a delegate", "seconds", pieces(0)),
    Workload("upload", "1 GiB from a file", "seconds", upload),
    Workload("chunked", "1 GiB chunked to a file", "seconds", chunked),
    Workload("slow", "1 GiB to a delegate that takes 1 ms a call", "memory", pieces(0.001), rounds=1),
    Workload("waiting", "10,000 transfers that wait", "waiting", waiting, rounds=3, holds=True),
    Workload("many-100", "40,000 GETs of 1 KB, 100 at once", "rate", many(100)),
    Workload("many-10000", "40,000 GETs of 1 KB, 10,000 at once", "rate", many(10000)),
    Workload("start", "a program that gets 1 KB, from its start to its end", "seconds", start, rounds=40),
]
