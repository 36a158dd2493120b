internal import Foundation
internal import Purl
internal import PurlTesting
import Synchronization

/// Does what a fault's user does, once, at its moment.
final class Meddler: Sendable {
    private let meddling: Meddling?
    private let stage: Stage
    private let state = Mutex<(loading: Loading?, hasActed: Bool)>((nil, false))

    init(_ meddling: Meddling?, _ stage: Stage) {
        self.meddling = meddling
        self.stage = stage
    }

    /// What it meddles with.
    func follow(_ loading: Loading) {
        state.withLock { $0.loading = loading }
    }

    func letGo() {
        state.withLock { $0.loading = nil }
    }

    /// Something the caller knows about happens now.
    func act(at moment: PlainMoment) {
        switch (meddling?.moment, moment) {
        case (.beforeResume, .beforeResume), (.afterResume, .afterResume): act(on: nil)
        default: break
        }
    }

    enum PlainMoment {
        case beforeResume, afterResume
    }

    /// A delegate call is running.
    func observe(_ call: Callback, _ task: URLSessionTask?) {
        if call == .didBecomeDownload || call == .didBecomeStream {
            state.withLock { $0.loading }?.replaceTask(by: task)
        }
        if case .inside(call) = meddling?.moment { act(on: task) }
    }

    /// Returns when the server has come to the gate and the user has acted, if that is the moment.
    func waitForGate() async {
        guard case .atGate = meddling?.moment else { return }
        await stage.gate.reached()
        act(on: nil)
    }

    private func act(on task: URLSessionTask?) {
        guard let meddling else { return }
        let loading = state.withLock { state -> Loading? in
            defer { state.hasActed = true }
            return state.hasActed ? nil : state.loading
        }
        guard let loading else { return }
        loading.perform(meddling.act, on: task)
        if meddling.opensGate { stage.gate.open() }
    }
}
