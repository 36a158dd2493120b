import Foundation
import Purl
import PurlIO
import PurlTesting
import Synchronization
import Testing

@testable import PurlSimulation

@Suite struct WatchTests {
    private typealias Kind = TransferTrace.Kind

    private static func call(
        _ number: Int, _ method: TransferTrace.DelegateMethod, written: Int64? = nil
    ) -> [Kind] {
        let call = TransferTrace.DelegateCall(
            number: number, method: method,
            arguments: written.map { .progress(bytes: 1, total: $0, expected: 10) })
        return [.queued(call), .began(call), .ended(call)]
    }

    private func brokenRules(_ kinds: [Kind]) -> [String] {
        Watch.brokenRules(
            in: kinds.map { TransferTrace.Event(nanoseconds: 0, lane: .delegateQueue, task: 1, kind: $0) })
    }

    @Test func aTransferInOrderBreaksNoRule() {
        let kinds =
            Self.call(1, .didWriteData, written: 4) + Self.call(2, .didWriteData, written: 4)
            + Self.call(3, .didFinishDownloading) + Self.call(4, .didComplete)
        #expect(brokenRules(kinds).isEmpty)
    }

    @Test func eachRuleIsWatched() {
        let first = TransferTrace.DelegateCall(number: 1, method: .didReceiveData)
        let second = TransferTrace.DelegateCall(number: 2, method: .didComplete)
        #expect(
            brokenRules(Self.call(1, .didComplete) + Self.call(2, .didComplete))
                == ["task 1: didComplete is called twice"])
        #expect(
            brokenRules(Self.call(1, .didComplete) + Self.call(2, .didWriteData))
                == ["task 1: didWriteData is called after didComplete"])
        #expect(
            brokenRules(Self.call(1, .completionHandler) + Self.call(2, .completionHandler))
                == ["task 1: completion handler is called twice"])
        #expect(
            brokenRules(Self.call(1, .didWriteData, written: 4) + Self.call(2, .didWriteData, written: 3))
                == ["task 1: didWriteData: the progress falls from 4 to 3"])
        #expect(
            brokenRules([.queued(first), .queued(second), .began(second), .ended(second), .began(first)])
                == [
                    "task 1: didComplete is called before didReceive data",
                    "task 1: didReceive data is called after didComplete",
                ])
        #expect(
            brokenRules([.queued(first), .queued(second), .began(first), .began(second)])
                == ["task 1: didComplete is called within didReceive data"])
    }

    private static func head(_ url: String, _ credentials: String) -> Kind {
        .requestHead(
            TransferTrace.RequestHead(
                url: url, method: "GET", target: "/", fields: [TransferTrace.Field("Authorization", credentials)],
                byteCount: 100))
    }

    private static let refusal = Kind.responseHead(
        TransferTrace.ResponseHead(status: 401, reason: "", fields: [], byteCount: 20))

    @Test func credentialsAtAnotherOriginBreakARule() {
        let first = Self.head("http://first.example/here", "Basic c2VjcmV0")
        let second = Self.head("http://second.example/there", "Basic c2VjcmV0")
        #expect(
            brokenRules([first, second])
                == ["task 1: the credentials for http://first.example:80 are sent to http://second.example:80"])
        #expect(brokenRules([first, Self.head("http://FIRST.example:80/again", "Basic c2VjcmV0")]).isEmpty)
        #expect(brokenRules([first, Self.head("https://first.example/here", "Basic c2VjcmV0")]).count == 1)
        #expect(brokenRules([first, Self.head("http://second.example/", "Basic b3RoZXI=")]).isEmpty)
    }

    @Test func anOriginThatAsksMayHaveTheSameCredentials() {
        let other = TransferTrace.RequestHead(
            url: "http://second.example/", method: "GET", target: "/", fields: [], byteCount: 10)
        let kinds = [
            Self.head("http://first.example/", "Basic c2VjcmV0"), .requestHead(other), Self.refusal,
            Self.head("http://second.example/", "Basic c2VjcmV0"),
        ]
        #expect(brokenRules(kinds).isEmpty)
    }

    @Test func aTaskIsOverWhenItsCallsHaveReturned() {
        let call = TransferTrace.DelegateCall(number: 1, method: .didComplete)
        var watch = Watch()
        #expect(watch.isQuiet)
        let states = [
            Kind.call(.resume), .queued(call), .completed(error: nil), .began(call), .ended(call),
        ].map { kind in
            watch.see(kind, of: 1)
            return watch.isQuiet
        }
        #expect(states == [false, false, false, false, true])
        #expect(watch.takeBroken().isEmpty)
    }

    /// More events than a trace keeps.
    @Test func theWatchSeesWhatATraceHasNoRoomFor() throws {
        let witness = Witness()
        let report = try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/page", .text("page"))
            let configuration = URLSessionConfiguration.ephemeral
            let session = URLSession(configuration: configuration)
            for _ in 0..<1_500 { _ = try await session.data(from: url) }
            witness.note(
                isQuiet: world.program.leftovers.isEmpty, dropped: configuration.trace?.recording.droppedEvents)
            session.finishTasksAndInvalidate()
        }
        #expect(report.steps > 900)
        #expect(witness.isQuiet)
        #expect(witness.dropped > 0)
    }

    private final class Witness: @unchecked Sendable {
        // Used by one simulation, then by the test.
        private(set) var isQuiet = false
        private(set) var dropped = 0

        func note(isQuiet: Bool, dropped: Int?) {
            (self.isQuiet, self.dropped) = (isQuiet, dropped ?? 0)
        }
    }
}

@Suite struct DiskTests {
    private static func write(_ bytes: [UInt8], to file: some OpenFile, at offset: Int64) throws {
        try bytes.withUnsafeBytes { try file.write($0, at: offset) }
    }

    /// What a file may be after a loss of power, by seeds.
    private static func outcomes(_ change: @escaping @Sendable (URL, SystemFiles) throws -> Void) throws -> Set<String>
    {
        var outcomes: Set<String> = []
        for seed: UInt64 in 1...60 {
            let texts = Texts()
            try Simulation(Seed(seed)).run { world in
                let computer = world.computer("laptop")
                try await computer.run("writer") { try change(computer.home, SystemFiles()) }
                computer.disk.losePower()
                let names = try FileManager.default.contentsOfDirectory(atPath: computer.home.path).sorted()
                texts.add(
                    try names.map { name in
                        let data = try Data(contentsOf: computer.home.appendingPathComponent(name))
                        return
                            "\(name)=\(String(decoding: data, as: UTF8.self).replacingOccurrences(of: "\0", with: "0"))"
                    }.joined(separator: " "))
            }
            outcomes.formUnion(texts.all)
        }
        return outcomes
    }

    private final class Texts: Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        func add(_ text: String) { texts.withLock { $0.append(text) } }
    }

    @Test func whatWasNotSynchronisedMayBeLostInAnySubset() throws {
        let outcomes = try Self.outcomes { home, files in
            for name in ["a", "b"] {
                let file = try files.open(home.appendingPathComponent(name).path, .creating)
                try Self.write(Array("x".utf8), to: file, at: 0)
            }
        }
        // Each file has its name or not, and its byte, a hole, or no length.
        let states = ["", "=", "=0", "=x"]
        let possible = Set(
            states.flatMap { a in
                states.map { b in
                    [a.isEmpty ? nil : "a\(a)", b.isEmpty ? nil : "b\(b)"].compactMap { $0 }.joined(separator: " ")
                }
            })
        #expect(outcomes.isSubset(of: possible), "\(outcomes.subtracting(possible))")
        #expect(outcomes.isSuperset(of: ["", "a=x", "b=x"]))
    }

    @Test func whatWasSynchronisedStays() throws {
        let outcomes = try Self.outcomes { home, files in
            let path = home.appendingPathComponent("a").path
            let file = try files.open(path, .creating)
            try Self.write(Array("old".utf8), to: file, at: 0)
            try file.synchronize()
            try files.synchronizeFolder(home.path)
            try Self.write(Array("new".utf8), to: file, at: 0)
            try files.move(path, to: home.appendingPathComponent("b").path)
        }
        #expect(outcomes == ["a=old", "a=new", "b=old", "b=new"])
    }

    @Test func aReplacementIsOldOrNewWhereverTheProgramIsKilled() throws {
        var contents: [String: Int] = [:]
        for seed: UInt64 in 1...150 {
            let texts = Texts()
            try Simulation(Seed(seed)).run { world in
                let computer = world.computer("laptop")
                let place = computer.home.appendingPathComponent("record")
                try Data("old".utf8).write(to: place)
                try await computer.run("writer", surprises: .init(kills: 1)) {
                    // Begun again it only looks.
                    if texts.all.isEmpty {
                        texts.add("begun")
                        let bytes = Array("new".utf8)
                        try SystemFiles().replace(place.path, with: bytes.span.bytes, survivesPowerLoss: true)
                        texts.add("done")
                    }
                }
                texts.add(String(decoding: try Data(contentsOf: place), as: UTF8.self))
            }
            contents[texts.all.joined(separator: " "), default: 0] += 1
        }
        // Killed before it, within it, or not at all.
        #expect(Set(contents.keys).isSubset(of: ["begun old", "begun new", "begun done new"]), "\(contents)")
        #expect(contents["begun old", default: 0] >= 5 && contents["begun done new", default: 0] >= 5, "\(contents)")
    }
}
