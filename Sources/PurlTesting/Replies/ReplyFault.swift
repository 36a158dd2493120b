extension Reply {
    /// What goes wrong with a response when it reaches a ``Reply/Phase``.
    ///
    /// ```swift
    /// for phase in Reply.Phase.allCases {
    ///     server.route("/file", .generated(size: 100_000).chunked(size: 1000).fault(.reset, at: phase))
    ///     // … whatever the code under test promises holds here, too …
    /// }
    /// ```
    public enum Fault: Sendable, Equatable {
        /// Nothing more is sent until the gate opens; without one, ever.
        case stall(until: ServerGate?)
        /// Nothing more is sent for some time.
        case pause(Duration)
        /// The server ends the stream, and continues to read until the client ends its own.
        case cut
        /// The connection is reset.
        case reset
        /// Something goes wrong in the records of TLS. Without TLS nothing does.
        case record(RecordFault)
    }

    /// What goes wrong in the records of TLS that carry a response.
    ///
    /// ``Fault/cut`` ends the stream with a `close_notify` alert, as TLS asks, and only HTTP shows that content is missing.
    public enum RecordFault: Sendable, Equatable {
        /// The stream ends without `close_notify`, as if an attacker had cut the connection (RFC 8446 §6.1).
        case truncated
        /// A `close_notify` alert is sent, nothing follows, and the connection stays open.
        case closeNotify
        /// The next record announces this length in place of its own. More than 16,640 is too long for any.
        case wrongLength(UInt16)
        /// One bit of the next record's content is wrong, as if an attacker had tampered with it.
        case flippedBit
        /// Half of the next record is sent, and nothing more until the gate opens; without one, ever.
        case stalled(until: ServerGate?)
    }

    /// Where in a response something goes wrong.
    ///
    /// A response that has no such place (one without a body, or whose body is not chunked) is sent unharmed.
    public enum Phase: Sendable, Hashable {
        /// Before the first byte of the final head. Interim responses have been sent.
        case beforeHead
        /// In the middle of the status line.
        case statusLine
        /// In the middle of the first field line.
        case field
        /// After the first half of the head.
        case midHead
        /// After this many bytes of body; 0 is right after the head. Chunk framing does not count.
        ///
        /// Responses with a shorter body, or with none, never reach this phase.
        case afterBodyBytes(Int)
        /// After the first half of the body.
        case midBody
        /// After this many thousandths of the body.
        case bodyShare(perMille: Int)
        /// Before the last so many bytes of the body; a shorter body is not begun.
        case beforeLastBytes(Int)
        /// In the size of a chunk: the second one, or, where there is only one, the zero at the end.
        case chunkSize
        /// In the middle of the first chunk.
        case chunk
        /// After the last chunk, in the middle of the trailer fields if there are any.
        case trailers
    }

    /// What is wrong with the `Content-Range` of a 206. The body is the requested range all the same.
    public enum ContentRangeFault: Sendable, Hashable {
        /// Start and end are this many bytes further (or less far, not below 0).
        case shifted(by: Int)
        /// The complete length is this; `nil` writes `*`, which is valid, but does not tell the length.
        case total(Int?)
        /// There is none.
        case missing
        /// The field's value is this text.
        case literal(String)
    }

    /// Which range a 206 has in place of the requested one. Its `Content-Range` says so.
    public enum RangeFault: Sendable, Hashable {
        /// The range begins this many bytes later (or earlier, not before 0), and ends where it was to end.
        case startShifted(by: Int)
        /// The range has only its first so many bytes, as RFC 9110 §15.3.7 allows.
        case shortened(to: Int)
        /// The range has so many bytes more at its end, as far as there are any.
        case lengthened(by: Int)
    }

    /// What is wrong with a `Content-Length`. The body is sent all the same, and the connection is closed after it.
    public enum LengthFault: Sendable, Hashable {
        /// It is this many bytes more (or less, not below 0) than the body has.
        case off(by: Int)
        /// It is this.
        case exactly(Int)
    }
}

extension Reply.Phase: CaseIterable, CustomStringConvertible {
    /// The phases without a number, and `afterBodyBytes(0)`, in the order in which a response reaches them.
    public static let allCases: [Reply.Phase] = [
        .beforeHead, .statusLine, .field, .midHead, .afterBodyBytes(0), .chunk, .chunkSize, .midBody, .trailers,
    ]

    /// The phase in words: "in the status line".
    public var description: String {
        switch self {
        case .beforeHead: "before the head"
        case .statusLine: "in the status line"
        case .field: "in a field"
        case .midHead: "in the middle of the head"
        case .afterBodyBytes(0): "right after the head"
        case .afterBodyBytes(let count): "after \(count) bytes of body"
        case .midBody: "in the middle of the body"
        case .bodyShare(let share): "after \(share) ‰ of the body"
        case .beforeLastBytes(let count): "before the last \(count) bytes of the body"
        case .chunkSize: "in a chunk's size"
        case .chunk: "in a chunk"
        case .trailers: "in the trailers"
        }
    }
}

/// A fault, and where it happens.
struct PlannedFault: Sendable {
    let phase: Reply.Phase
    let fault: Reply.Fault
}
