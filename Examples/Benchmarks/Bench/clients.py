"""The programs that are measured."""


class Clients:
    def __init__(self, runners, purl_folder):
        self.runners = runners
        self.purl = str(purl_folder / "purl")

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
