internal import Foundation
internal import PurlTesting

/// What can be wrong with TLS.
extension Fault {
    /// Handshakes that fail or stall. Where the server has sent all of its part, the client takes the handshake for done,
    /// and what follows is a connection that is lost: other faults are that.
    static let handshakes: [Fault] = [ServerTLS.HandshakePhase.beforeFirstFlight, .midFirstFlight].flatMap { phase in
        handshakeEndings.map { name, fault in
            let made = Fault(
                "handshake: \(name)", "\(phase)",
                .failure(code(of: fault, at: phase)),
                prepare: { stage in
                    stage.answer(stage.resource)
                    try stage.secure { $0.fault(fault, at: phase) }
                }
            ).with { $0.needsTLS = true }
            return fault == .stall(until: nil) ? made.timed : made.withStreams()
        }
    }

    private static func code(
        of fault: ServerTLS.HandshakeFault, at phase: ServerTLS.HandshakePhase
    ) -> URLError.Code {
        switch fault {
        case .stall: .timedOut
        case .cut, .reset: .networkConnectionLost
        // In the middle of a record it is taken for the rest of it, and the stream ends before that is whole.
        case .alert, .plainText: phase == .midFirstFlight ? .networkConnectionLost : .secureConnectionFailed
        case .wrongLength, .flippedBit: .secureConnectionFailed
        }
    }

    private static let handshakeEndings: [(String, ServerTLS.HandshakeFault)] = [
        ("end of stream", .cut), ("reset", .reset), ("alert", .alert(.handshakeFailure)),
        ("plain text", .plainText("HTTP/1.1 400 Bad Request\r\n\r\n")),
        ("record of the wrong length", .wrongLength(0xFFFF)),
        ("wrong bit", .flippedBit(at: 100)), ("stall", .stall(until: nil)),
    ]

    /// Records that carry a message. There are none without TLS.
    static let records: [Fault] = recordPhases.flatMap { phase in
        recordEndings.map { ending in
            let fault = Fault(
                "\(ending.name)", "\(phase)", .failure(ending.code),
                prepare: { $0.answer($0.resource.fault(.record(ending.fault), at: phase)) }
            ).with {
                $0.needsTLS = true
                $0.sendsResource = true
            }
            return ending.passesTime ? fault.timed : fault
        }
    }

    private static let recordPhases: [Reply.Phase] = [.beforeHead, .midHead, .afterBodyBytes(0), .midBody]

    private struct RecordEnding: Sendable {
        let name: String
        let fault: Reply.RecordFault
        let code: URLError.Code
        var passesTime = false
    }

    private static let recordEndings = [
        RecordEnding(name: "end without close_notify", fault: .truncated, code: .networkConnectionLost),
        RecordEnding(name: "close_notify alone", fault: .closeNotify, code: .networkConnectionLost),
        RecordEnding(name: "record of the wrong length", fault: .wrongLength(0xFFFF), code: .secureConnectionFailed),
        RecordEnding(name: "record with a wrong bit", fault: .flippedBit, code: .secureConnectionFailed),
        RecordEnding(name: "half a record", fault: .stalled(until: nil), code: .timedOut, passesTime: true),
    ]
}
