import Foundation

/// One change to an honest entry of a journal.
struct HostileChange: CustomStringConvertible, Sendable {
    /// The keys that lead to the value.
    let path: [String]
    /// The new value as JSON; `nil` removes the old one.
    let json: String?

    init(_ path: String, _ json: String?) {
        self.path = path.split(separator: ".").map(String.init)
        self.json = json
    }

    var description: String { "\(path.joined(separator: ".")): \((json ?? "none").prefix(60))" }

    /// The object with the change made in it.
    func apply(to object: Any, _ path: ArraySlice<String>) throws -> Any {
        guard let key = path.first else {
            return try JSONSerialization.jsonObject(with: Data((json ?? "").utf8), options: .fragmentsAllowed)
        }
        var entries = object as? [String: Any] ?? [:]
        if path.count == 1, json == nil {
            entries[key] = nil
        } else {
            entries[key] = try apply(to: entries[key] ?? [:] as [String: Any], path.dropFirst())
        }
        return entries
    }

    // MARK: The table

    static let all: [HostileChange] =
        table.flatMap { path, values in values.map { HostileChange(path, $0) } }
        + names.flatMap { name in
            [HostileChange("resume.partialName", "\"\(name)\""), HostileChange("finished", finished(name, "6"))]
        }
        + ["-1", "\(Int64.max)", "0", "1000000"].map { HostileChange("finished", finished("PARTIAL", $0)) }

    private static func finished(_ name: String, _ length: String) -> String {
        """
        {"partialName":"\(name)","length":\(length),"url":"","status":-99999999999,"headers":{"a":"b"},\
        "isHandedOver":false}
        """
    }

    /// CANARY stands for the path of a file outside.
    private static let names: [String] = [
        "../canary", "../../canary", "../../../canary", "CANARY", "/etc/passwd", "", ".", "..", "lock", "../lock",
        "../tasks.v1.journal", "tasks.v1.journal", "purl-.partial", "purl-x/../../../../canary.partial",
        "../Partials/purl-00000000-0000-0000-0000-000000000000.partial",
        "purl-00000000-0000-0000-0000-000000000000.partial", String(repeating: "n", count: 5000), "a\\u0000b", "a\\nb",
    ]

    private static let counts: [String?] = [
        "-1", "0", "1", "\(Int64.min)", "\(Int64.max)", "1499999", "1500000", "1500001", "99999999999", "0.5", "\"1\"",
        nil,
    ]

    private static let urls: [String?] = [
        "\"\"", "\"::\"", "\"%\"", "\"file:///etc/passwd\"", "\"/file\"", "7", nil, "\"http://\"",
        "\"https://127.0.0.1/\"",
    ]

    private static let methods: [String?] = [
        "\"\"", "\"POST\"", "\"GET / HTTP/1.1\\r\\nX-Evil: 1\\r\\n\"", "\"get\"", "1", nil,
    ]

    private static let table: [(String, [String?])] = [
        ("identifier", ["0", "-1", "\(Int.min)", "\(Int.max)", "\(Int.max - 1)", "\(Int.max / 2)"]),
        (
            "identifier",
            ["\(Int.max / 2 - 1)", "1.5", "\"1\"", "1e100", "null", "[]", nil, "3", "18446744073709551616"]
        ),
        ("originalRequest.url", urls),
        ("resume.currentRequest.url", urls),
        ("originalRequest.method", methods),
        ("resume.originalRequest.method", methods),
        ("originalRequest.headers", ["{\"X\":\"a\\r\\nX-Evil: 1\"}", "{\"X\\r\\nX-Evil\":\"1\"}", "{\"\":\"\"}"]),
        ("originalRequest.headers", ["[]", "{\"X\":1}", nil]),
        ("originalRequest.timeoutInterval", ["-1", "1e308", "0", "\"soon\"", "\"nan\"", "\"inf\"", "null"]),
        ("originalRequest.body", ["\"*\"", "\"\"", "{}"]),
        ("resume.bytesReceived", counts),
        ("resume.totalBytes", counts),
        ("resume.validator", ["\"W/\\\"v1\\\"\"", "\"v1\"", "\"\\\"v1\\\"\\r\\nX-Evil: 1\"", "null", "1"]),
        ("resume.tailDigest", ["\"\"", "\"\(String(repeating: "0", count: 64))\"", "null"]),
        ("resume.version", ["2", "-1", "null"]),
        ("resume", ["null", "{}", "[]", "\"text\"", "[[[[[[]]]]]]"]),
        ("priority", ["1e30", "-5", "\"high\"", "null", "\"nan\"", "\"inf\""]),
        ("isRunning", ["\"yes\"", "1", "null"]),
        ("taskDescription", ["1", "\"\(String(repeating: "d", count: 1 << 20))\""]),
        ("finished", ["null", "{}", "true"]),
        ("unknown", ["{\"a\":[1,2,3]}"]),
        ("", ["[]"]),
    ]
}
