import Purl

/// A bit that is flipped on its way, in the bytes that one side sends until the handshake is done and its tickets are taken.
package struct BitFlip: Sendable, CustomStringConvertible {
    package enum Sender: Sendable, CaseIterable {
        case client, server
    }

    package let sender: Sender
    /// Counted from the sender's first byte.
    package let position: Int
    /// From 0 to 7.
    package let bit: Int

    package init(_ sender: Sender, at position: Int, bit: Int) {
        (self.sender, self.position, self.bit) = (sender, position, bit)
    }

    package var description: String { "bit \(bit) of byte \(position) of the \(sender)'s" }

    /// What a flip has led to.
    package enum Outcome: Equatable {
        /// The client has failed, once and for good.
        case failed(TLSError.Kind)
        /// Both sides wait for the rest of a record or a message that was made longer. The end of the connection, or the
        /// request's time-out, is the one error then.
        case waiting
        /// Both sides have finished the handshake, and content has passed both ways.
        case harmless(RecordPlace)
        /// The sender has sent fewer bytes.
        case missed
    }
}

/// A byte of a record.
package struct RecordPlace: Sendable, Hashable, CustomStringConvertible {
    /// Its content type (RFC 8446 §5.1).
    package let type: UInt8
    /// Counted from the record's first byte. The head has 5: the type, the version, the length.
    package let offset: Int

    package var description: String { "byte \(offset) of a record of type \(type)" }
}

/// Something of a flipped handshake that must not be.
package struct FlipViolation: Error, CustomStringConvertible {
    package let description: String
}

extension MemoryPair {
    /// Carries out the handshake and an exchange of content, with one bit flipped on the way.
    package func outcome(of flip: BitFlip) throws -> BitFlip.Outcome {
        let wire = FlippingWire(flip)
        do {
            try finishHandshake(wire)
            guard wire.isDone else {
                return try exchangesContent() ? .missed : violation("content is lost without a flip")
            }
            return try exchangesContent() ? .harmless(wire.place) : .waiting
        } catch is NoEnd {
            return .waiting
        } catch let error as TLSError {
            guard wire.isDone else { throw FlipViolation(description: "an error without a flip: \(error)") }
            _ = takeCiphertext()
            return .failed(error.kind)
        }
    }

    private func violation(_ sentence: String) throws -> BitFlip.Outcome { throw FlipViolation(description: sentence) }

    /// Until neither side has anything to send.
    private func finishHandshake(_ wire: FlippingWire) throws {
        var isDone = false
        while true {
            if !isDone {
                do {
                    if case .done(let result) = try client.handshake() {
                        isDone = true
                        guard result.trust.problem == nil else {
                            throw FlipViolation(description: "a verdict about other certificates: \(result.trust)")
                        }
                    }
                } catch let error as TLSError {
                    // A connection that has failed stays so.
                    _ = takeCiphertext()
                    if let step = try? client.handshake() { throw FlipViolation(description: "\(step) after \(error)") }
                    throw error
                }
            }
            var question = takeCiphertext()
            wire.carry(&question, from: .client)
            var answer = server.exchange(question)
            wire.carry(&answer, from: .server)
            answer.withUnsafeBytes { if !$0.isEmpty { client.receiveCiphertext($0) } }
            if isDone, try !read().isEmpty { throw FlipViolation(description: "content that was not sent") }
            if question.isEmpty, answer.isEmpty {
                if isDone { return }
                throw NoEnd()
            }
        }
    }

    /// False when one side waits for more, and the other says nothing.
    private func exchangesContent() throws -> Bool {
        let content: [UInt8] = [1, 2, 3]
        let received = server.receive(try write(content))
        guard received == content else {
            guard received.isEmpty else { throw FlipViolation(description: "the server has received other content") }
            // It may have an alert to send.
            server.exchange([]).withUnsafeBytes { if !$0.isEmpty { client.receiveCiphertext($0) } }
            guard try read().isEmpty else { throw FlipViolation(description: "content that was not sent") }
            return false
        }
        server.send(content).withUnsafeBytes { client.receiveCiphertext($0) }
        let answer = try read()
        guard answer.isEmpty || answer == content else {
            throw FlipViolation(description: "the client has received other content")
        }
        // Else a ticket before it was made longer.
        return answer == content
    }
}

/// Carries what both sides send, and flips one bit.
private final class FlippingWire {
    /// The bit was flipped.
    private(set) var isDone = false
    private let flip: BitFlip
    /// What the sender has sent, as it was.
    private var carried: [UInt8] = []

    init(_ flip: BitFlip) {
        self.flip = flip
    }

    func carry(_ bytes: inout [UInt8], from sender: BitFlip.Sender) {
        guard sender == flip.sender else { return }
        let start = carried.count
        carried += bytes
        guard carried.indices.dropFirst(start).contains(flip.position) else { return }
        bytes[flip.position - start] ^= 1 << UInt8(flip.bit)
        isDone = true
    }

    /// Where the bit was.
    var place: RecordPlace {
        var start = 0
        while start + 5 <= carried.count {
            let end = start + 5 + Int(carried[start + 3]) << 8 + Int(carried[start + 4])
            if flip.position < end { break }
            start = end
        }
        return RecordPlace(type: carried[start], offset: flip.position - start)
    }
}
