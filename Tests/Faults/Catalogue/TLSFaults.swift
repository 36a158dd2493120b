internal import Foundation
internal import PurlTesting

/// What can be wrong with the records of TLS that carry a message. There are none without TLS.
extension Fault {
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
