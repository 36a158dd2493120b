import Foundation
internal import PurlHTTP

/// A request as it is compared with another.
struct RecordedRequest: Sendable {
    /// Method and target.
    let line: String
    private let fields: HeaderFields
    private let body: Data

    init(_ request: ReceivedRequest) {
        line = "\(request.method) \(request.target)"
        var fields = HeaderFields()
        for field in request.fields { fields.append(FieldName(field.name), field.value) }
        self.fields = fields
        body = request.body
    }

    /// Takes bytes apart. What is no request has a line that nobody asks for.
    init(_ bytes: Data) {
        let bytes = [UInt8](bytes)
        var parser = RequestHeadParser()
        var offset = 0
        guard let head = try? parser.parse(bytes.span.bytes, from: &offset) else {
            line = "no request"
            fields = HeaderFields()
            body = Data()
            return
        }
        line = "\(head.method) \(head.target)"
        fields = head.fields
        body = Data(bytes[offset...])
    }

    /// What is different about the other one, in words; `nil` when nothing is that counts.
    ///
    /// - Parameter ignored: Names of fields in small letters.
    func difference(from other: RecordedRequest, ignoring ignored: Set<String>) -> String? {
        let own = comparable(ignoring: ignored)
        let others = other.comparable(ignoring: ignored)
        for name in Set(own.keys).union(others.keys).sorted() where own[name] != others[name] {
            return "\(name) is \(quoted(others[name])), recorded is \(quoted(own[name]))"
        }
        guard body != other.body else { return nil }
        let position = zip(body, other.body).enumerated().first { $1.0 != $1.1 }?.offset
        return "the body of \(other.body.count) bytes differs from the recorded \(body.count) at "
            + "\(position ?? min(body.count, other.body.count))"
    }

    /// How the body is sent is the client's own affair.
    private static let framing: Set<String> = ["content-length", "transfer-encoding", "connection", "expect"]

    private func comparable(ignoring ignored: Set<String>) -> [String: [String]] {
        var values: [String: [String]] = [:]
        for field in fields {
            let name = field.name.lowercased()
            if !ignored.contains(name), !Self.framing.contains(name) { values[name, default: []].append(field.value) }
        }
        return values
    }

    private func quoted(_ values: [String]?) -> String {
        values.map { "“\($0.joined(separator: "”, “"))”" } ?? "missing"
    }
}
