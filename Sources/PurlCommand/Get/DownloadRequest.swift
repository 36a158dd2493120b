import Foundation
import Purl
import PurlDownloads

/// One file to download: its URL, and what else is known of it.
struct DownloadRequest: Equatable, Sendable {
    /// A URL with a scheme.
    let url: URL
    /// The file's path; `nil` uses the name that the server suggests.
    var output: String?
    /// The checksum that the file must have.
    var checksum: Checksum?
    /// Other URLs of the same file, in the order in which they are requested when ``url`` has failed.
    var mirrors: [URL] = []

    /// All URLs of the file.
    var urls: [URL] { [url] + mirrors }

    /// The same URLs, as they are recorded by commands that check servers where this one does not, or the other way round.
    var urlsOfOtherChecking: [URL] {
        urls.map { UncheckedBytes.isMarked($0) ? UncheckedBytes.origin(of: $0) : UncheckedBytes.url(of: $0) }
    }

    init(url: URL, output: String? = nil, checksum: Checksum? = nil, mirrors: [URL] = []) {
        (self.url, self.output, self.checksum, self.mirrors) = (url, output, checksum, mirrors)
    }

    /// The same request; its URLs have the mark of unchecked bytes, or none.
    func marked(isUnchecked: Bool) -> DownloadRequest {
        let mark = isUnchecked ? UncheckedBytes.url(of:) : UncheckedBytes.origin(of:)
        return DownloadRequest(url: mark(url), output: output, checksum: checksum, mirrors: mirrors.map(mark))
    }
}

/// The URL that is recorded with bytes of servers that were not checked (`--insecure`), or to which a redirect has led out of TLS,
/// marked by a fragment, which no server is sent: a command that checks them does not resume such bytes, nor take such a file
/// for complete.
enum UncheckedBytes {
    private static let marks = ["#purl-unchecked", ";purl-unchecked"]

    static func isMarked(_ url: URL) -> Bool { marks.contains { url.absoluteString.hasSuffix($0) } }

    static func url(of url: URL) -> URL {
        if isMarked(url) { return url }
        let text = url.absoluteString
        return URL(string: text + marks[text.contains("#") ? 1 : 0]) ?? url
    }

    /// The URL that is marked; a URL without the mark is its own origin.
    static func origin(of url: URL) -> URL {
        let text = url.absoluteString
        guard let mark = marks.first(where: text.hasSuffix) else { return url }
        return URL(string: String(text.dropLast(mark.count))) ?? url
    }
}

/// Download requests, each URL once, in the order given.
struct DownloadRequestList {
    private(set) var requests: [DownloadRequest] = []
    private var indices: [String: Int] = [:]

    init(_ requests: [DownloadRequest] = []) {
        for request in requests { add(request) }
    }

    /// Adds a request, unless an equal one is in the list. `false` when its URL is in the list with another name, checksum or
    /// mirror.
    @discardableResult
    mutating func add(_ request: DownloadRequest) -> Bool {
        let key = request.url.absoluteString
        if let index = indices[key] { return requests[index] == request }
        indices[key] = requests.count
        requests.append(request)
        return true
    }
}

/// Reads an `--input-file`: a URL in each line, optionally followed by `sha256=HEX`, `out=NAME` and `mirror=URL`. Empty lines,
/// and text after a `#` at the beginning of a word, are skipped.
enum InputFile {
    /// The requests of the command line, followed by those of the file.
    ///
    /// - Parameter path: "-" is standard input.
    static func requests(
        in path: String, after first: [DownloadRequest]
    ) throws(CommandFailure) -> [DownloadRequest] {
        let file = try ListFile(path)
        return try requests(text: try file.text(), name: file.name, after: first)
    }

    /// - Parameter name: The file's name in error messages.
    static func requests(
        text: String, name: String, after first: [DownloadRequest]
    ) throws(CommandFailure) -> [DownloadRequest] {
        var list = DownloadRequestList(first)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            do throws(CommandFailure) {
                guard let request = try request(line) else { continue }
                guard list.add(request) else {
                    throw CommandFailure(
                        "\(request.url.shownText) is listed already with another name, checksum or mirror.")
                }
            } catch {
                throw CommandFailure("Line \(index + 1) of \(name): \(error.sentence)")
            }
        }
        guard !list.requests.isEmpty else { throw CommandFailure("There is no URL in \(name).") }
        return list.requests
    }

    private static func request(_ line: Substring) throws(CommandFailure) -> DownloadRequest? {
        let words = line.split(whereSeparator: \.isWhitespace).prefix { !$0.hasPrefix("#") }.map(String.init)
        guard let first = words.first else { return nil }
        guard let url = URLWord.url(first) else {
            throw CommandFailure(URLWord.refusal(first))
        }
        var request = DownloadRequest(url: url)
        for word in words.dropFirst() {
            if word.hasPrefix("sha256="), request.checksum == nil {
                request.checksum = try checksum(String(word.dropFirst("sha256=".count)))
            } else if word.hasPrefix("out="), request.output == nil {
                request.output = try fileName(String(word.dropFirst("out=".count)))
            } else if word.hasPrefix("mirror=") {
                request.mirrors.append(try mirror(String(word.dropFirst("mirror=".count))))
            } else {
                throw CommandFailure(
                    "“\(word)” is not sha256=HEX, out=NAME or mirror=URL, or is given twice.")
            }
        }
        return request
    }

    private static func checksum(_ text: String) throws(CommandFailure) -> Checksum {
        guard let checksum = Checksum(text) else {
            throw CommandFailure("“sha256=” needs 64 hexadecimal digits, not “\(text)”.")
        }
        return checksum
    }

    private static func mirror(_ text: String) throws(CommandFailure) -> URL {
        guard let url = URLWord.url(text) else {
            throw CommandFailure(
                "“mirror=” needs a URL such as http://host/file, not “\(URLWord.shown(text))”.")
        }
        return url
    }

    private static func fileName(_ text: String) throws(CommandFailure) -> String {
        guard FileName.isPlain(text) else {
            throw CommandFailure("“out=” needs the plain name of a file, not “\(text)”.")
        }
        return text
    }
}

extension URL {
    /// The URL as it is shown: without passwords, and without the marks of records.
    var shownOrigin: String { UncheckedBytes.origin(of: JoinedBytes.origin(of: self)).shownText }
}
