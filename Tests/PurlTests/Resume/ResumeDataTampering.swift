import Foundation
import Purl

/// One change to resume data that nobody who made it honestly would make.
struct Tampering: CustomStringConvertible, Sendable {
    let description: String
    let change: @Sendable (inout [String: Any]) -> Void

    init(_ description: String, _ change: @escaping @Sendable (inout [String: Any]) -> Void) {
        self.description = description
        self.change = change
    }

    /// Sets one entry; nil removes it.
    init(_ key: String, _ value: (any Sendable)?) {
        self.init("\(key): \(value.map { "\($0)".prefix(40) } ?? "none")") { $0[key] = value }
    }

    func apply(to blob: Data, format: PropertyListSerialization.PropertyListFormat = .xml) throws -> Data {
        var entries = try Self.entries(of: blob)
        change(&entries)
        return try PropertyListSerialization.data(fromPropertyList: entries, format: format, options: 0)
    }

    static func entries(of blob: Data) throws -> [String: Any] {
        try PropertyListSerialization.propertyList(from: blob, format: nil) as? [String: Any] ?? [:]
    }

    private static func request(_ key: String, _ value: (any Sendable)?, in both: [String]) -> Tampering {
        Tampering("\(both.joined(separator: " and ")): \(key): \(value.map { "\($0)" } ?? "none")") { entries in
            for name in both {
                var request = entries[name] as? [String: Any] ?? [:]
                request[key] = value
                entries[name] = request
            }
        }
    }

    static let refused: [Tampering] =
        [
            Tampering("version", 2), Tampering("version", 0), Tampering("version", -1), Tampering("version", nil),
            Tampering("version", "one"), Tampering("version", 1.5), Tampering("version", ["1"]),
            Tampering("partialName", nil), Tampering("partialName", ""), Tampering("partialName", "."),
            Tampering("partialName", ".."), Tampering("partialName", "/etc/passwd"),
            Tampering("partialName", "../victim"), Tampering("partialName", "../partials/../victim"),
            Tampering("partialName", "deeper/victim"), Tampering("partialName", "victim/"),
            Tampering("partialName", "line\nbreak"), Tampering("partialName", String(repeating: "n", count: 300)),
            Tampering("partialName", 7), Tampering("partialName", ["victim"]), Tampering("partialName", Data([1])),
            Tampering("bytesReceived", nil), Tampering("bytesReceived", -1), Tampering("bytesReceived", Int64.min),
            Tampering("bytesReceived", Int64.max), Tampering("bytesReceived", UInt64.max),
            Tampering("bytesReceived", "100000"), Tampering("bytesReceived", 0.5), Tampering("bytesReceived", true),
            Tampering("totalBytes", -1), Tampering("totalBytes", 0), Tampering("totalBytes", 99_999),
            Tampering("totalBytes", Int64.max), Tampering("totalBytes", "many"), Tampering("totalBytes", 300_000.5),
            Tampering("validator", "W/\"v1\""), Tampering("validator", "v1"), Tampering("validator", ""),
            Tampering("validator", "\"v1\"\r\nX-Evil: 1"), Tampering("validator", "\"v1\r\nX-Evil: 1\""),
            Tampering("validator", "\"v1\", \"v2\""), Tampering("validator", "*"), Tampering("validator", 1),
            Tampering("tailDigest", nil), Tampering("tailDigest", ""), Tampering("tailDigest", "abc"),
            Tampering("tailDigest", String(repeating: "g", count: 64)), Tampering("tailDigest", Data(count: 32)),
            Tampering("originalRequest", nil), Tampering("originalRequest", "http://127.0.0.1/"),
            Tampering("currentRequest", nil), Tampering("currentRequest", [1, 2]),
            Tampering("a megabyte of something else") { $0["padding"] = String(repeating: "x", count: 2 << 20) },
        ]
        + [["originalRequest", "currentRequest"], ["originalRequest"], ["currentRequest"]].flatMap { both in
            [
                request("method", "POST", in: both), request("method", "get", in: both),
                request("method", nil, in: both), request("method", "GET / HTTP/1.1\r\nX: y", in: both),
                request("url", nil, in: both), request("url", "", in: both), request("url", 80, in: both),
                request("headers", "none", in: both), request("headers", ["Accept": 1], in: both),
                request("timeoutInterval", "soon", in: both),
            ]
        }

    /// What may be said differently without meaning anything else.
    static let accepted: [Tampering] = [
        Tampering("as it was") { _ in },
        Tampering("an entry nobody knows") { $0["comment"] = "kept by hand" },
        Tampering("the digest in capitals") { $0["tailDigest"] = ($0["tailDigest"] as? String)?.uppercased() },
        Tampering("totalBytes", nil),
    ]

    /// Readable, but nothing to go on with.
    static let startingOver: [Tampering] = [
        Tampering("validator", nil), Tampering("bytesReceived", 0), Tampering("bytesReceived", 99_999),
        Tampering("bytesReceived", 100_001), Tampering("bytesReceived", 300_000),
        Tampering("tailDigest", String(repeating: "0", count: 64)),
        Tampering("partialName", "purl-00000000-0000-0000-0000-000000000000.partial"),
    ]
}
