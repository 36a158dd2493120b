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

/// A pipe whose ends can be closed one by one.
struct Pipe: ~Copyable {
    var reader: Descriptor
    var writer: Descriptor

    init() {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        // Not for the processes of other tests, which would keep them open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reader = Descriptor(owning: ends[0])
        writer = Descriptor(owning: ends[1])
    }

    func put(_ text: String) {
        _ = write(writer.rawValue, text, text.utf8.count)
    }
}
