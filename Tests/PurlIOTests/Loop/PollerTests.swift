import Testing

@testable import PurlIO

@Suite("A poller reports what is ready, and nothing else", .timeLimit(.minutes(5)))
struct PollerTests {
    private let token = PollToken(slot: 7, generation: 3)

    @Test(arguments: PollerKind.allCases)
    func bytesMakeADescriptorReadable(kind: PollerKind) throws {
        let poller = kind.make()
        let pipe = Pipe()
        try poller.change(pipe.reader.rawValue, token: token, from: [], to: .read)
        #expect(events(of: poller) == [])
        pipe.put("x")
        #expect(events(of: poller) == [PollEvent(token: token, readiness: .read)])
    }

    @Test(arguments: PollerKind.allCases)
    func aDescriptorThatStaysReadyIsReportedAgain(kind: PollerKind) throws {
        let poller = kind.make()
        let pipe = Pipe()
        pipe.put("x")
        try poller.change(pipe.reader.rawValue, token: token, from: [], to: .read)
        #expect(events(of: poller).count == 1)
        #expect(events(of: poller).count == 1)
    }

    @Test(arguments: PollerKind.allCases)
    func roomMakesADescriptorWritable(kind: PollerKind) throws {
        let poller = kind.make()
        let pipe = Pipe()
        try poller.change(pipe.writer.rawValue, token: token, from: [], to: .write)
        #expect(events(of: poller) == [PollEvent(token: token, readiness: .write)])
    }

    @Test(arguments: PollerKind.allCases)
    func aHangUpIsReadableAndWritable(kind: PollerKind) throws {
        let poller = kind.make()
        var pipe = Pipe()
        try poller.change(pipe.reader.rawValue, token: token, from: [], to: .read)
        pipe.writer.close()
        #expect(events(of: poller, after: []) == [PollEvent(token: token, readiness: [.read, .write])])
    }

    @Test(arguments: PollerKind.allCases)
    func anErrorIsReadableAndWritable(kind: PollerKind) throws {
        let poller = kind.make()
        var pipe = Pipe()
        try poller.change(pipe.writer.rawValue, token: token, from: [], to: .write)
        pipe.reader.close()
        let before = PollEvent(token: token, readiness: .write)
        #expect(events(of: poller, after: [before]) == [PollEvent(token: token, readiness: [.read, .write])])
    }

    @Test(arguments: PollerKind.allCases)
    func withoutInterestNotEvenAHangUpIsReported(kind: PollerKind) throws {
        let poller = kind.make()
        var pipe = Pipe()
        try poller.change(pipe.reader.rawValue, token: token, from: [], to: .read)
        try poller.change(pipe.reader.rawValue, token: token, from: .read, to: [])
        pipe.writer.close()
        #expect(events(of: poller) == [])
    }

    @Test(arguments: PollerKind.allCases)
    func interestCanChange(kind: PollerKind) throws {
        let poller = kind.make()
        let pipe = Pipe()
        try poller.change(pipe.writer.rawValue, token: token, from: [], to: .read)
        #expect(events(of: poller) == [])
        try poller.change(pipe.writer.rawValue, token: token, from: .read, to: [.read, .write])
        #expect(events(of: poller) == [PollEvent(token: token, readiness: .write)])
    }

    @Test(arguments: PollerKind.allCases)
    func removingADescriptorKeepsTheOthers(kind: PollerKind) throws {
        let poller = kind.make()
        let first = Pipe()
        let second = Pipe()
        let third = Pipe()
        let descriptors = [first.writer.rawValue, second.writer.rawValue, third.writer.rawValue]
        for (slot, descriptor) in descriptors.enumerated() {
            try poller.change(descriptor, token: PollToken(slot: UInt32(slot), generation: 0), from: [], to: .write)
        }
        try poller.change(descriptors[0], token: PollToken(slot: 0, generation: 0), from: .write, to: [])
        #expect(Set(events(of: poller).map(\.token.slot)) == [1, 2])
        try poller.change(descriptors[2], token: PollToken(slot: 2, generation: 0), from: .write, to: [])
        #expect(events(of: poller).map(\.token.slot) == [1])
    }

    private func events(of poller: any Poller) -> [PollEvent] {
        var events = [PollEvent(token: PollToken(slot: 0, generation: 0), readiness: [])]
        poller.wait(milliseconds: 0, into: &events)
        return events
    }

    /// The events once they are others than before: a process that is being started has a copy of a closed end for a moment.
    private func events(of poller: any Poller, after before: [PollEvent]) -> [PollEvent] {
        while !Task.isCancelled {
            let events = events(of: poller)
            if events != before { return events }
            sched_yield()
        }
        return before
    }
}
