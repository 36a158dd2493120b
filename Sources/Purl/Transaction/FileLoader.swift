import Foundation
internal import PurlHTTP
internal import PurlIO

/// Loads a `file:` URL: a regular file of this machine, or the range of it that the request's `Range` field names.
///
/// The file is read on a worker's thread, one portion at a time, and no faster than its content is taken. Directories and
/// special files are refused.
@NetworkActor
struct FileLoader: TransactionLoader {
    func loads(_ transaction: Transaction) -> Bool {
        let request = transaction.request
        guard let url = request.url, Self.namesLocalFile(url) else { return false }
        let range = request.value(forHTTPHeaderField: "Range")
        Worker.shared.run(on: .files) {
            Result { () throws(FileFailure) in try LocalFile(at: url, range: range) }
        } then: { [weak transaction] result in
            guard let transaction, transaction.awaitsLoader else { return }
            switch result {
            case .failure(let failure): transaction.fail(.file(failure))
            case .success(let file): deliver(file, to: request.method, of: transaction)
            }
        }
        return true
    }

    /// A host other than this machine's would be another machine's file (RFC 8089 §3).
    private static func namesLocalFile(_ url: URL) -> Bool {
        url.scheme?.lowercased() == "file" && ["", "localhost"].contains(url.host()?.lowercased() ?? "")
    }

    private func deliver(_ file: LocalFile, to method: RequestMethod, of transaction: Transaction) {
        let exchange = LocalExchange(for: transaction)
        transaction.begin(exchange)
        let head = ResponseHead(of: file.response)
        exchange.push(.response(file.response, head, .ofLocal(head, to: method), .local))
        guard method != .head, !file.content.isEmpty else { return exchange.push(.end) }
        let reader = FileReader(file, for: exchange)
        exchange.onDemand { reader.read() }
    }
}

/// Reads a file's content for an exchange, whenever it asks for more.
@NetworkActor
private final class FileReader {
    private let file: LocalFile
    private weak var exchange: LocalExchange?
    /// Where the content that has not been read begins.
    private var position: Int64
    private var isReading = false

    init(_ file: LocalFile, for exchange: LocalExchange) {
        self.file = file
        self.exchange = exchange
        position = file.content.lowerBound
    }

    func read() {
        guard !isReading, position < file.content.upperBound else { return }
        isReading = true
        Worker.shared.run(on: .files) { [file, position] in
            Result { () throws(FileFailure) in try file.read(from: position) }
        } then: { [self] result in
            isReading = false
            take(result)
        }
    }

    private func take(_ result: Result<Data, FileFailure>) {
        switch result {
        case .failure(let failure):
            exchange?.push(.failure(.file(failure)))
        case .success(let portion):
            position += Int64(portion.count)
            exchange?.push(.content(portion))
            if position == file.content.upperBound { exchange?.push(.end) }
        }
    }
}

/// An open file, and which of its bytes are loaded. Its methods block.
private final class LocalFile: Sendable {
    /// How much is read at a time.
    private static let portion: Int64 = 262_144

    let response: URLResponse
    /// Where the content is in the file.
    let content: Range<Int64>
    private let url: URL
    private let file: RegularFile

    /// - Parameter range: The value of a `Range` field. As with a server that does not know it, a range that cannot be read,
    ///   or several, mean the whole file; one outside the file means nothing of it.
    init(at url: URL, range: String?) throws(FileFailure) {
        self.url = url
        let length: Int64
        do throws(SystemError) {
            file = try RegularFile(reading: url.path(percentEncoded: false))
            length = try file.size()
        } catch {
            throw FileFailure(.read, url, error)
        }
        if let range = range.flatMap(ByteRangeSet.init), range.ranges.count == 1 {
            content = range.resolve(against: length).first ?? 0..<0
        } else {
            content = 0..<length
        }
        response = URLResponse(
            url: url, mimeType: FileMediaType.ofFile(named: url.lastPathComponent),
            expectedContentLength: content.count, textEncodingName: nil)
    }

    /// The next portion of the content.
    func read(from position: Int64) throws(FileFailure) -> Data {
        let count = Int(min(content.upperBound - position, Self.portion))
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try file.read(count, at: position)
        } catch {
            throw FileFailure(.read, url, error)
        }
        guard bytes.count == count else { throw FileFailure(.read, url, FileShortened()) }
        return Data(bytes)
    }
}

/// A file has lost bytes that its response has announced.
private struct FileShortened: Error, CustomStringConvertible {
    var description: String { "it became shorter while it was read" }
}
