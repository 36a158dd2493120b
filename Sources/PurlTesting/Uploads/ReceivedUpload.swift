public import Foundation

/// An upload that an ``UploadTarget`` received, and how far it is.
public struct ReceivedUpload: Sendable, CustomStringConvertible {
    /// How far an upload is.
    public enum State: Sendable, Hashable {
        /// Content can be added.
        case incomplete
        /// The client has marked it as complete.
        case complete
        /// The client has cancelled it.
        case cancelled
        /// Its resource has expired.
        case expired
        /// It has more content than its length allows, and was given up.
        case invalid
    }

    /// Content that one request has added.
    public struct Part: Sendable, Hashable {
        /// The request's ``ReceivedRequest/number``.
        public let request: Int
        /// Where in the upload the content is.
        public internal(set) var range: Range<Int>

        /// Describes a part.
        ///
        /// - Parameters:
        ///   - request: The request's number.
        ///   - range: Where in the upload the content is.
        public init(request: Int, range: Range<Int>) {
            self.request = request
            self.range = range
        }
    }

    /// The place of this upload among all of its target, counted from 0.
    public let number: Int
    /// The path of the upload resource.
    public let path: String
    /// The version of the draft in which it is made; `nil` for an upload that cannot be resumed.
    public let version: Int?
    /// The request that created it, as its head arrived.
    public let request: ReceivedRequest
    /// How many bytes the client says the upload has; `nil` when it does not say so.
    public internal(set) var length: Int?
    /// The content so far, as many bytes as the target keeps at most.
    public private(set) var content = Data()
    /// How many bytes the upload has so far.
    public private(set) var offset = 0
    /// What each request has added, in order. Requests that added none are left out.
    public private(set) var parts: [Part] = []
    /// How far the upload is.
    public private(set) var state = State.incomplete

    /// Whether some of the content was accepted more than once. That takes a server that loses content: see
    /// ``UploadTarget/Fault/truncation(to:)``.
    public var hasRepeatedContent: Bool { parts.reduce(0) { $0 + $1.range.count } > offset }

    /// How far it is, and by how many requests: `/uploads/0: 12 of 40 bytes in 2 parts, incomplete`.
    public var description: String {
        let amount = length.map { "\(offset) of \($0) bytes" } ?? "\(offset) bytes"
        return "\(path): \(amount) in \(parts.count) \(parts.count == 1 ? "part" : "parts"), \(state)"
    }

    init(number: Int, path: String, version: Int?, request: ReceivedRequest, length: Int?) {
        self.number = number
        self.path = path
        self.version = version
        self.request = request
        self.length = length
    }

    /// Whether the upload's resource exists.
    var isActive: Bool {
        switch state {
        case .incomplete, .complete: true
        case .cancelled, .expired, .invalid: false
        }
    }

    /// Adds content, of which at most `limit` bytes are kept in all.
    mutating func append(_ bytes: UnsafeRawBufferPointer, by request: Int, keepingAtMost limit: Int) {
        guard !bytes.isEmpty else { return }
        let kept = bytes.prefix(max(0, limit - content.count))
        if !kept.isEmpty { content.append(contentsOf: kept) }
        let end = offset + bytes.count
        if let last = parts.indices.last, parts[last].request == request {
            parts[last].range = parts[last].range.lowerBound..<end
        } else {
            parts.append(Part(request: request, range: offset..<end))
        }
        offset = end
    }

    /// Drops the content behind an offset.
    mutating func truncate(to count: Int) {
        guard count < offset else { return }
        offset = max(0, count)
        content = Data(content.prefix(offset))
    }

    /// Keeps the counts alone.
    mutating func dropContent() {
        content = Data()
    }

    /// Marks the upload as complete.
    mutating func complete() {
        length = offset
        state = .complete
    }

    /// Makes the upload's resource inaccessible.
    mutating func deactivate(_ state: State) {
        if isActive { self.state = state }
    }
}
