internal import Foundation
internal import Purl
internal import PurlTesting

/// What users do to their tasks, and to the queue on which they are called.
extension Fault {
    /// Everything at every phase.
    static let meddling: [Fault] =
        Meddling.Act.allCases.flatMap { act -> [Fault] in
            [
                Fault("user", "\(act.rawValue), before it is resumed", .failure(.cancelled))
                    .with { $0.meddling = Meddling(act: act, moment: .beforeResume) }
                    .expecting { _ in act.ends ? .failure(.cancelled) : .success() }
                    .only { act.fits($0) && $0.resultStyle != .async && act != .suspendAndResume }
                    .withStreams { act.fits($0) && act != .suspendAndResume },
                Fault("user", "\(act.rawValue), as soon as it is resumed", .failure(.cancelled))
                    .with { $0.meddling = Meddling(act: act, moment: .afterResume) }
                    .expecting { _ in act.ends ? .either(.cancelled) : .success() }
                    .only { act.fits($0) && ($0.resultStyle != .async || !act.invalidates) }
                    .withStreams { act.fits($0) },
            ]
                + [Reply.Phase.beforeHead, .statusLine, .midHead, .afterBodyBytes(0), .midBody].map { phase in
                    atGate(act, "\(phase)") { $0.stalled(at: phase, until: $1) }
                }
                + [Reply.Phase.chunk, .chunkSize, .trailers].map { phase in
                    atGate(act, "\(phase)") {
                        $0.chunked(size: 3000, trailers: ["X-Sum": "none"]).stalled(at: phase, until: $1)
                    }
                }
        }

    private static func atGate(
        _ act: Meddling.Act, _ phase: String, _ stall: @escaping @Sendable (Reply, ServerGate) -> Reply
    ) -> Fault {
        Fault("user", "\(act.rawValue), \(phase)", act.ends ? .failure(.cancelled) : .success()) { stage in
            stage.answer(stall(stage.resource, stage.gate))
        }.with {
            $0.meddling = Meddling(act: act, moment: .atGate, opensGate: !act.ends)
            $0.sendsResource = true
        }.only { act.fits($0) }
    }

    /// Everything from inside every call.
    static let callbacks: [Fault] = Callback.allCases.flatMap { call in
        Meddling.Act.allCases.map { act in inside(call, act) }
    }

    private static func inside(_ call: Callback, _ act: Meddling.Act) -> Fault {
        let isEarly = call.isBeforeTheEnd
        let fits: @Sendable (TaskKind) -> Bool = { kind in
            guard call.isMade(for: kind) else { return false }
            if call == .taskIsWaitingForConnectivity { return act.ends && act.fits(kind) }
            // Inside a call there is always a task to speak to.
            return act == .cancelForResumeData ? kind.isDownload : true
        }
        let name = "\(act.rawValue), inside \(call.rawValue)"
        return Fault("callback", name, act.ends ? (isEarly ? .failure(.cancelled) : .either(.cancelled)) : .success()) {
            stage in
            let reply = isEarly ? stage.resource.stalled(at: .midBody, until: stage.gate) : stage.resource
            switch call {
            case .willPerformHTTPRedirection:
                stage.answer(.redirect(307, to: "/good"))
                stage.answer(reply, at: "/good")
            case .didReceiveChallenge:
                let question = Reply.status(401).field("WWW-Authenticate", "Basic realm=\"x\"")
                stage.answer(.sequence([question, reply]))
            case .didReceiveInformationalResponse:
                stage.answer(reply.interim(103))
            case .willCacheResponse:
                stage.answer(reply.field("Cache-Control", "max-age=60"))
            case .taskIsWaitingForConnectivity:
                stage.refuse()
            default:
                stage.answer(reply)
            }
        }.with { fault in
            // A finished download's file is there during the delegate call, and gone afterwards.
            fault.meddling = Meddling(act: act, moment: .inside(call), opensGate: isEarly && !act.ends)
            fault.sendsResource = true
            if call == .willBeginDelayedRequest {
                fault.changeTask = { $0?.earliestBeginDate = .distantPast }
            }
            if call == .taskIsWaitingForConnectivity {
                fault.checksSession = false
                fault.configure = { configuration, _ in configuration.waitsForConnectivity = true }
            }
            if isEarly { fault.script = { $0.script(waitingAfter: 20_000) } }
        }.only(fits).withStreams(fits)
    }

    // MARK: Queues

    static let queues: [Fault] =
        [
            // Nothing comes to a server over https before the delegate was asked about it.
            queue("suspended until the server is done") { queue, stage in
                queue.isSuspended = true
                Task {
                    await stage.server.wait { $0.completeRequests > stage.earlierRequests }
                    queue.isSuspended = false
                }
            }.only { $0 != .uploadStream }.with { $0.needsOpenness = true },
            queue("busy with something else until the server is done") { queue, stage in
                let turn = DispatchSemaphore(value: 0)
                queue.maxConcurrentOperationCount = 1
                queue.addOperation { turn.wait() }
                Task {
                    await stage.server.wait { $0.completeRequests > stage.earlierRequests }
                    turn.signal()
                }
            }.only { $0 != .uploadStream }.with { $0.needsOpenness = true },
            queue("whose operations are cancelled all the time") { queue, stage in
                Task {
                    while !stage.gate.isOpen {
                        queue.cancelAllOperations()
                        await Task.yield()
                    }
                }
            }.withStreams(),
            queue("with one place") { queue, _ in queue.maxConcurrentOperationCount = 1 }.withStreams(),
            queue("with eight places") { queue, _ in queue.maxConcurrentOperationCount = 8 }.withStreams(),
        ]

    private static func queue(
        _ name: String, _ disturb: @escaping @Sendable (OperationQueue, Stage) -> Void
    ) -> Fault {
        Fault("delegate queue", name, .success()) { stage in stage.answer(stage.resource.inPieces(of: 8000)) }
            .with { $0.disturb = disturb }
    }
}
