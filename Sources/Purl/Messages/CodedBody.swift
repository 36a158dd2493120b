import Foundation
internal import PurlHTTP

/// What a session delivers of a body in a content coding.
package enum CodedContent: Sendable {
    /// Its content: the coding is undone.
    case decoded
    /// The bytes as they were sent, as programs want them that keep files: the coding is the file's, and the bytes can be
    /// resumed like any others.
    case asSent

    /// A response's head as the rules about its content apply.
    func contentHead(_ head: ResponseHead) -> ResponseHead {
        switch self {
        case .decoded: return head
        case .asSent:
            var plain = head
            plain.fields.removeAll(.contentEncoding)
            return plain
        }
    }
}

/// A body in a content coding: undoes it no faster than the content is taken, so that a few coded bytes never become
/// more content than the task may hold.
struct CodedBody {
    /// How many bytes of content are made at a time.
    private static let portion = 65_536

    private var decoder: ContentDecoder
    /// Bytes that have arrived and have not been decoded yet.
    private var waiting: [UInt8] = []
    private var position = 0
    private var mayHaveMore = false
    private var isFinished = false
    /// The whole coded body has arrived.
    var isComplete = false

    /// `nil` when the body is not coded, has a coding that is not known here, or is a part of a coded body, which cannot
    /// be decoded by itself: such a body is delivered as it arrived.
    init?(_ head: ResponseHead) {
        guard head.status != 206, head.fields.contains(.contentEncoding),
            let decoder = ContentDecoder(codings: head.fields.listElements(of: .contentEncoding).map { String($0) }),
            !decoder.isIdentity
        else { return nil }
        self.decoder = decoder
    }

    mutating func take(_ bytes: UnsafeRawBufferPointer) {
        if position == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            position = 0
        }
        waiting.append(contentsOf: bytes)
    }

    /// The next bytes of the content; `nil` when more of the body has to arrive first, or there is no more. Throws when the
    /// body is damaged or, once it is complete, lacks its end.
    mutating func next() throws(DecodeError) -> [UInt8]? {
        var content: [UInt8] = []
        while content.isEmpty, position < waiting.count || mayHaveMore {
            let input = waiting
            let taken = try decoder.decode(
                input.span.bytes.extracting(droppingFirst: position), into: &content, limit: Self.portion)
            position += taken
            mayHaveMore = decoder.stoppedAtLimit
            if taken == 0, content.isEmpty { break }
        }
        if content.isEmpty, isComplete, !isFinished {
            isFinished = true
            try decoder.finish()
        }
        return content.isEmpty ? nil : content
    }
}
