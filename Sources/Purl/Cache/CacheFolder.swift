import Foundation
internal import PurlHTTP
internal import PurlIO

/// The folder in which a cache keeps its files, one for each response.
///
/// A file's name holds its slot and the time it was stored, so that no file need be opened to list the responses; its
/// modification date is the time of its last use. Other files in the folder are left alone. All calls block.
struct CacheFolder: Sendable {
    /// What a file's name holds.
    struct Name: Hashable, Sendable {
        let slot: CacheSlot
        /// Milliseconds since 1970.
        let stored: Int64
    }

    /// A file that was found.
    struct Finding: Sendable {
        let name: Name
        let size: Int
        let used: Date
    }

    /// Longer files are not read.
    private static let maximumSize: Int64 = 1 << 32

    /// How long nothing has been written to an unfinished file that counts as left behind, in seconds. A younger one may be
    /// another process's, which is writing it.
    private static let abandonedAfter: TimeInterval = 3600

    let url: URL
    let files: any FileLayer

    /// The folder of the program.
    static var program: URL {
        UserDirectories.caches
            .appendingPathComponent(UserDirectories.programName, isDirectory: true)
            .appendingPathComponent("URLCache", isDirectory: true)
    }

    /// The files, in the order of their last use. Removes what an interrupted write has left.
    ///
    /// - Parameter now: The current date.
    func scan(at now: Date) -> [Finding] {
        let keys: Set<URLResourceKey> = [.fileSizeKey, .contentModificationDateKey]
        let items =
            (try? FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: Array(keys))) ?? []
        var findings: [Finding] = []
        for item in items.sorted(by: { $0.lastPathComponent < $1.lastPathComponent }) {
            let fileName = item.lastPathComponent
            let isFinished = !fileName.hasSuffix(Self.unfinished)
            guard let name = Name(fileName.dropLast(isFinished ? 0 : Self.unfinished.count)) else { continue }
            let values = try? item.resourceValues(forKeys: keys)
            let used = values?.contentModificationDate ?? .distantPast
            if isFinished {
                findings.append(Finding(name: name, size: values?.fileSize ?? 0, used: used))
            } else if now.timeIntervalSince(used) > Self.abandonedAfter {
                files.remove(item.path)
            }
        }
        return findings.sorted { ($0.used, $0.name.stored) < ($1.used, $1.name.stored) }
    }

    /// The bytes of a file; `nil` when it is not there or cannot be read.
    func read(_ name: Name) -> Data? {
        guard let file = try? files.open(path(name), .existing), let size = try? file.size(),
            size <= Self.maximumSize
        else { return nil }
        return try? file.read(Int(size), at: 0)
    }

    /// Writes a file under a temporary name, then renames it. It is not synchronised: a file that a power loss has
    /// damaged does not match its digest, and its response can be loaded again.
    func write(_ bytes: Data, to name: Name) throws {
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try files.replace(path(name), with: bytes.bytes, survivesPowerLoss: false)
    }

    /// Sets the time of a file's last use.
    func touch(_ name: Name, at date: Date) {
        try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path(name))
    }

    func remove(_ name: Name) {
        files.remove(path(name))
    }

    private static let unfinished = ".new"

    private func path(_ name: Name) -> String { url.appendingPathComponent(name.text).path }
}

extension CacheFolder.Name {
    /// Two numbers of 16 hexadecimal digits, and one of decimal digits.
    var text: String { "\(Self.hexadecimal(slot.number))-\(Self.hexadecimal(slot.variant))-\(stored)" }

    /// `nil` when it is not the name of a stored response's file.
    init?(_ text: Substring) {
        let parts = text.split(separator: "-", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count == 16, parts[1].utf8.count == 16,
            let number = UInt64(parts[0], radix: 16), let variant = UInt64(parts[1], radix: 16),
            let stored = Int64(parts[2])
        else { return nil }
        self.init(slot: CacheSlot(number: number, variant: variant), stored: stored)
        guard self.text == text else { return nil }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

/// The format of a stored response's file: the SHA-256 of all that follows the first line, a line of JSON, the body.
///
/// Of the request only the fields named by `Vary` are kept. A file that does not match its digest is not used.
enum CacheFile {
    /// The line of JSON.
    private struct Head: Codable {
        static let version = 1
        var version = Head.version
        /// The URL of the key.
        var url: String
        var policy: UInt
        var userInfo: Data?
        var requestTime: Int64
        var responseTime: Int64
        /// Names and values.
        var requestFields: [[String]]
        var http: HTTP?
        var other: Other?
        var responseURL: String

        struct HTTP: Codable {
            var status: Int
            var version: String
            var fields: [[String]]
        }

        struct Other: Codable {
            var mimeType: String?
            var length: Int64
            var textEncodingName: String?
        }
    }

    /// `nil` for a response without a provenance or without a URL.
    static func encode(_ cached: CachedURLResponse, for key: CacheKey) -> Data? {
        let response = cached.response
        guard let provenance = cached.provenance, let url = response.url?.absoluteString else { return nil }
        var head = Head(
            url: key.url, policy: cached.storagePolicy.rawValue, userInfo: cached.userInfoData,
            requestTime: provenance.requestTime, responseTime: provenance.responseTime, requestFields: [],
            responseURL: url)
        if let response = response as? HTTPURLResponse {
            let fields = CacheStorage.storedFields(of: response.fields)
            head.http = Head.HTTP(
                status: response.statusCode, version: "\(response.head.version)", fields: pairs(fields))
            if case .fields(let names) = VaryList(fields) {
                head.requestFields = pairs(provenance.requestFields).filter { names.contains(FieldName($0[0])) }
            }
        } else {
            head.other = Head.Other(
                mimeType: response.mimeType, length: response.expectedContentLength,
                textEncodingName: response.textEncodingName)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(head) else { return nil }
        let rest = line + [UInt8(ascii: "\n")] + cached.data
        return Data(rest.sha256.utf8) + [UInt8(ascii: "\n")] + rest
    }

    /// A stored response, and the URL of its key; `nil` for a damaged file.
    static func decode(_ file: Data) -> (url: String, response: CachedURLResponse)? {
        guard let digestEnd = file.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let rest = Data(file[(digestEnd + 1)...])
        guard file[..<digestEnd].elementsEqual(rest.sha256.utf8),
            let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n")),
            let head = try? JSONDecoder().decode(Head.self, from: Data(rest[..<lineEnd])),
            head.version == Head.version, let url = URL(string: head.responseURL),
            let policy = URLCache.StoragePolicy(rawValue: head.policy)
        else { return nil }
        let response: URLResponse
        if let http = head.http {
            response = HTTPURLResponse(
                url: url,
                head: ResponseHead(
                    version: http.version == "HTTP/1.0" ? .http1_0 : .http1_1, status: http.status,
                    fields: fields(http.fields)))
        } else if let other = head.other, let length = Int(exactly: other.length) {
            response = URLResponse(
                url: url, mimeType: other.mimeType, expectedContentLength: length,
                textEncodingName: other.textEncodingName)
        } else {
            return nil
        }
        return (
            head.url,
            CachedURLResponse(
                response, Data(rest[(lineEnd + 1)...]),
                head.userInfo.flatMap { CachedURLResponse.userInfo(from: $0) }, policy,
                CacheProvenance(
                    requestFields: fields(head.requestFields), requestTime: head.requestTime,
                    responseTime: head.responseTime))
        )
    }

    private static func pairs(_ fields: HeaderFields) -> [[String]] {
        fields.map { [$0.name, $0.value] }
    }

    private static func fields(_ pairs: [[String]]) -> HeaderFields {
        var fields = HeaderFields()
        for pair in pairs where pair.count == 2 { fields.append(FieldName(pair[0]), pair[1]) }
        return fields
    }
}
