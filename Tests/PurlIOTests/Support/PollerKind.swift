@testable import PurlIO

/// The pollers that every rule about descriptors is tested with.
enum PollerKind: CaseIterable, Sendable {
    case native, portable

    func make() -> any Poller {
        switch self {
        case .native: Platform.makePoller()
        case .portable: PollPoller()
        }
    }

    /// A loop that the test turns by hand.
    @NetworkActor func makeLoop() -> EventLoop {
        EventLoop(poller: make())
    }
}
