"""What is measured, and by what commands."""

from dataclasses import dataclass
from typing import Callable

# Where libcurl, which FoundationNetworking is made of, looks for roots on Debian.
SYSTEM_ROOTS = "/etc/ssl/certs/ca-certificates.crt"
CURL = ["curl", "-s", "-S", "--fail"]


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    # The figure that counts, one of those in report.UNITS.
    figure: str
    # (clients, servers, folder) -> the command of each client, by its name
    commands: Callable
    rounds: int | None = None
    # The row that the others are compared with.
    own: str = "Purl"
    # What the server does besides answering: "answers", "holds" (all transfers wait for each other) or "events" (one
    # after another, each when the client has printed the one before).
    server: str = "answers"
    # The files lie on the disk, not in memory.
    on_disk: bool = False
    # Why a client is faster, for the report.
    note: str = ""


def small(count, concurrency):
    """Each client has about a second."""
    def commands(clients, servers, folder):
        url = f"{servers.web.url}/small"
        every = {
            "Purl": clients.runner("PurlRunner", "small", url, count, concurrency),
            "Purl, await": clients.runner("PurlRunner", "await", url, count, concurrency),
            "AsyncHTTPClient": clients.runner("AsyncHTTPClientRunner", "small", url, count // 3, concurrency),
            "FoundationNetworking": clients.runner("FoundationRunner", "small", url, count // 10, concurrency)}
        if concurrency == 1:
            every["curl"] = [*CURL, "-o", "/dev/null", f"{url}?[1-{count // 2}]"]
        # For a client that was compiled for speed alone the time decides, not the count.
        return every | {"wrk": ["wrk", "-t1", f"-c{concurrency}", "-d2s", url]}

    return commands


def queues(count, concurrency):
    """On the session's own queue, and on one of the program's, where each call is an operation of its own."""
    def commands(clients, servers, folder):
        url = f"{servers.web.url}/small"
        words = ("small", url, count, concurrency)
        return {
            "Purl": clients.runner("PurlRunner", *words),
            "Purl, given queue": ["env", "GIVEN_QUEUE=1", *clients.runner("PurlRunner", *words)],
            "FoundationNetworking, given queue": [
                "env", "GIVEN_QUEUE=1", *clients.runner("FoundationRunner", "small", url, count // 10, concurrency)]}

    return commands


def many(clients, servers, folder):
    def at_once(concurrency):
        return clients.runner("PurlRunner", "small", f"{servers.web.url}/small", 40000, concurrency)

    return {"10,000 at once": at_once(10000), "100 at once": at_once(100)}


def download(clients, servers, folder):
    file = folder / "out"
    return clients.swift("download", f"{servers.web.url}/big", file) | download_by_system(clients, servers, file)


def secure(commands, web):
    """The same commands, where the runners know the server's root."""
    return {client: trusting(client, command, web) for client, command in commands.items()}


def trusting(client, command, web):
    if client in ("curl", "wrk"):
        return command
    if client == "FoundationNetworking":
        # It takes the system's file and nothing else, so it gets a system with another file, which only root can make.
        script = f'mount --bind "$0" {SYSTEM_ROOTS} && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", script, str(web.root), *command]
    return ["env", f"TLS_ROOT={web.root}", *command]


def secure_download(clients, servers, folder):
    web, file = servers.web, folder / "out"
    url = f"{web.secure_url}/big"
    every = clients.swift("download", url, file) | {"curl": [*CURL, "--cacert", str(web.root), "-o", str(file), url]}
    return secure(every, web)


def secure_small(clients, servers, folder):
    web = servers.web
    url = f"{web.secure_url}/small"
    every = {
        "Purl": clients.runner("PurlRunner", "small", url, 30000, 64),
        "AsyncHTTPClient": clients.runner("AsyncHTTPClientRunner", "small", url, 15000, 64),
        "FoundationNetworking": clients.runner("FoundationRunner", "small", url, 2000, 64),
        "curl": [*CURL, "--cacert", str(web.root), "--parallel", "--parallel-max", "64", "-o", "/dev/null",
                 f"{url}?[1-15000]"],
        "wrk": ["wrk", "-t1", "-c64", "-d2s", url]}
    return secure(every, web)


def secure_delegate(clients, servers, folder):
    web = servers.web
    url = f"{web.secure_url}/big"
    every = clients.swift("pieces", url, 0) | {"curl": [*CURL, "--cacert", str(web.root), "-o", "/dev/null", url]}
    return secure(every, web)


def secure_upload(clients, servers, folder):
    web = servers.web
    url = f"{web.secure_url}/put/big"
    every = clients.swift("upload", url, web.big_file) | {
        "curl": [*CURL, "--cacert", str(web.root), "-T", str(web.big_file), url]}
    return secure(every, web)


def secure_one_by_one(path, count, resumption=True):
    def commands(clients, servers, folder):
        web = servers.web
        url = f"{web.secure_url if resumption else web.forgetful_url}{path}"
        every = {
            "Purl": clients.runner("PurlRunner", "small", url, count, 1),
            "AsyncHTTPClient": clients.runner("AsyncHTTPClientRunner", "small", url, count, 1),
            "FoundationNetworking": clients.runner("FoundationRunner", "small", url, count, 1),
            "curl": [*CURL, "--cacert", str(web.root), "-o", "/dev/null", f"{url}?[1-{count}]"]}
        return secure(every, web)

    return commands


def download_to_disk(clients, servers, folder):
    file = folder / "out"
    return {
        "Purl": clients.runner("PurlRunner", "download", f"{servers.web.url}/big", file),
        **download_by_system(clients, servers, file)}


def download_by_system(clients, servers, file):
    return {
        "curl": [*CURL, "-o", str(file), f"{servers.web.url}/big"],
        "splice": clients.raw("download", servers.web, "/big", file)}


def chunked(clients, servers, folder):
    file = folder / "out"
    url = f"{servers.web.url}/chunked/big"
    return clients.swift("download", url, file) | {"curl": [*CURL, "-o", str(file), url]}


def upload(clients, servers, folder):
    web = servers.web
    url = f"{web.url}/put/big"
    words = ("upload", url, web.big_file)
    return clients.swift(*words) | {
        "Purl, resumable": ["env", "RESUMABLE=1", *clients.runner("PurlRunner", *words)],
        "curl": [*CURL, "-T", str(web.big_file), url],
        "sendfile": clients.raw("upload", web, "/put/big", web.big_file)}


def pieces(pause):
    return lambda clients, servers, folder: clients.swift("pieces", f"{servers.web.url}/big", pause)


def waiting(clients, servers, folder):
    every = clients.swift("waiting", servers.holding.url, 10000)
    # It takes a descriptor limit and minutes that it does not have.
    del every["FoundationNetworking"]
    return every


def start(clients, servers, folder):
    file = folder / "out"
    return {
        "Purl": [clients.purl, "get", f"{servers.web.url}/small", "-o", str(file)],
        "curl": [*CURL, "-o", str(file), f"{servers.web.url}/small"]}


# Where the loop is that takes the elements, as the runner calls it.
ISOLATIONS = {"none": "none", "main actor": "main", "actor": "actor"}


def content_bytes(clients, servers, folder):
    return {
        title: clients.runner("PurlRunner", "bytes", isolation, f"{servers.web.url}/quarter")
        for title, isolation in ISOLATIONS.items()}


def text(element):
    return lambda clients, servers, folder: {
        f"{content}, {title}": clients.runner("PurlRunner", element, isolation, f"{servers.web.url}/{file}")
        for content, file in [("ASCII", "ascii"), ("mixed text", "mixed")] for title, isolation in ISOLATIONS.items()}


def events(clients, servers, folder):
    return {
        "Purl": clients.runner("PurlRunner", "events", servers.events.url),
        "socket": clients.raw("events", servers.events, "/", "/dev/null")}


def echo(size, count, in_flight):
    def commands(clients, servers, folder):
        words = (servers.echo.url, size, count, in_flight)
        return {"Purl": clients.runner("PurlRunner", "echo", *words)} | clients.websockets(*words)

    return commands


WORKLOADS = [
    Workload("small-1", "GET 1 KB, one after another", "rate", small(20000, 1)),
    Workload("small-64", "GET 1 KB, 64 at once", "rate", small(50000, 64)),
    Workload("download", "1 GiB to a file in memory (tmpfs)", "seconds", download),
    Workload("download-disk", "1 GiB to a file on the disk", "seconds", download_to_disk, on_disk=True),
    Workload("delegate", "1 GiB to a delegate", "seconds", pieces(0)),
    Workload("upload", "1 GiB from a file", "seconds", upload),
    Workload("download-tls", "1 GiB to a file in memory, over TLS 1.3", "seconds", secure_download, note=(
        "Purl decrypts on one thread and writes the file on another, which costs wake-ups, and here two processors have to do "
        "for both and for nginx; curl does one after the other.")),
    Workload("delegate-tls", "1 GiB to a delegate, over TLS 1.3", "seconds", secure_delegate, note=(
        "curl hands no content to another thread: it writes it to /dev/null.")),
    Workload("upload-tls", "1 GiB from a file, over TLS 1.3", "seconds", secure_upload),
    Workload("small-1-tls", "GET 1 KB, one after another, over TLS 1.3", "rate", secure_one_by_one("/small", 5000), note=(
        "Each request passes from the program's thread to the network thread and back; curl has one thread.")),
    Workload("small-64-tls", "GET 1 KB, 64 at once, over TLS 1.3", "rate", secure_small),
    Workload("resumed-tls", "1,000 new connections over TLS 1.3 to a server that gives tickets", "rate",
             secure_one_by_one("/once/small", 1000)),
    Workload("connections-tls", "1,000 new connections over TLS 1.3 to a server without resumption", "rate",
             secure_one_by_one("/once/small", 1000, resumption=False), note=(
        "AsyncHTTPClient brings BoringSSL along, whose handshake takes less arithmetic than that of OpenSSL 3.0, which the others "
        "share. Purl computes it on a thread of its own, so that no other transfer waits for it: one handshake after another "
        "waits for two more changes of threads than with curl, while the processor time is less.")),
    Workload("chunked", "1 GiB chunked to a file", "seconds", chunked),
    Workload("slow", "1 GiB to a delegate that takes 1 ms a call", "memory", pieces(0.001), rounds=1),
    Workload("bytes", "256 MiB, byte by byte, by where the loop is", "throughput", content_bytes, own="none"),
    Workload("lines", "The lines of a text", "throughput", text("lines"), own="ASCII, none"),
    Workload("characters", "The characters of a text", "throughput", text("characters"), own="ASCII, none"),
    Workload("scalars", "The scalars of a text", "throughput", text("scalars"), own="ASCII, none"),
    Workload("events", "1,000 server-sent events, each answered by the program", "latency", events, server="events"),
    Workload("websocket-1", "WebSocket messages of 64 bytes and back, one after another", "messages", echo(64, 10000, 1)),
    Workload("websocket-64", "WebSocket messages of 64 bytes and back, 64 under way", "messages", echo(64, 30000, 64)),
    Workload("websocket-big", "WebSocket messages of 1 MiB and back", "messages", echo(1 << 20, 300, 1)),
    Workload("waiting", "10,000 transfers that wait", "waiting", waiting, rounds=3, server="holds"),
    Workload("many", "40,000 GETs of 1 KB", "each", many, own="10,000 at once"),
    Workload("queue-1", "GET 1 KB, one after another, by the kind of queue", "rate", queues(20000, 1)),
    Workload("queue-64", "GET 1 KB, 64 at once, by the kind of queue", "rate", queues(30000, 64)),
    Workload("start", "a program that gets 1 KB, from its start to its end", "seconds", start, rounds=40),
]
