import Foundation
import Purl
import PurlDownloads
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

    @Test func aFileThatBeginsAnewBeginsItsProgressAnew() {
        let resumed = TransferTrace.DelegateCall(
            number: 2, method: .didResumeAtOffset, arguments: .position(offset: 2, expected: 10))
        func kinds(_ written: Int64) -> [Kind] {
            Self.call(1, .didWriteData, written: 4) + [.queued(resumed), .began(resumed), .ended(resumed)]
                + Self.call(3, .didWriteData, written: written)
        }
        #expect(brokenRules(kinds(3)).isEmpty)
        #expect(brokenRules(kinds(1)) == ["task 1: didWriteData: the progress falls from 2 to 1"])
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

    @Test func aCancelledTaskNeedNotReceiveItsFile() {
        let file = TransferTrace.DelegateCall(number: 1, method: .didFinishDownloading)
        let queued = TransferTrace.DelegateCall(number: 2, method: .didComplete)
        func completion(_ arguments: TransferTrace.Arguments) -> [Kind] {
            let call = TransferTrace.DelegateCall(number: 2, method: .didComplete, arguments: arguments)
            return [.queued(file), .queued(queued), .began(call), .ended(queued)]
        }
        #expect(brokenRules(completion(.failure(code: "URLError.cancelled", sentence: "cancelled"))).isEmpty)
        #expect(
            brokenRules(completion(.success(bytes: nil)))
                == ["task 1: didComplete is called before didFinishDownloading"])
    }

    @Test func aCancelledTaskNeedNotReceiveItsData() {
        let data = TransferTrace.DelegateCall(number: 1, method: .didReceiveData)
        let end = TransferTrace.DelegateCall(number: 2, method: .didComplete)
        let calls: [Kind] = [.queued(data), .queued(end), .began(end), .ended(end)]
        #expect(brokenRules([.call(.cancel)] + calls).isEmpty)
        #expect(brokenRules(calls) == ["task 1: didComplete is called before didReceive data"])
    }

    // MARK: Memory

    private static let response = Kind.responseHead(
        TransferTrace.ResponseHead(status: 200, reason: "", fields: [], byteCount: 20))

    private static func piece(_ count: Int) -> Kind { .bodyReceived(TransferTrace.Piece(count: count)) }

    /// What a task with a limit of 1 MiB is seen to do.
    private func excesses(_ kinds: [Kind]) -> [String] {
        var watch = Watch()
        watch.setBufferLimit(1 << 20, of: 1)
        for kind in [Self.head("http://first.example/", ""), Self.response] + kinds { watch.see(kind, of: 1) }
        return watch.takeBroken()
    }

    @Test func aBodyThatPilesUpBehindItsDelegateBreaksARule() {
        let call = TransferTrace.DelegateCall(number: 1, method: .didReceiveData)
        let begun = TransferTrace.DelegateCall(number: 1, method: .didReceiveData, arguments: .bytes(1 << 20))
        let pieces = [Kind](repeating: Self.piece(1 << 18), count: 6)
        #expect(excesses([.queued(call)] + pieces) == ["task 1: 1572864 bytes wait for its delegate, and 1048576 may"])
        // While the call runs it has the bytes.
        #expect(excesses([.queued(call)] + pieces.prefix(4) + [.began(begun)] + pieces.prefix(2)).count == 1)
        let taken: [Kind] = [.queued(call)] + pieces.prefix(4) + [.began(begun), .ended(call)] + pieces.prefix(4)
        #expect(excesses(taken).isEmpty)
    }

    @Test func aBodyThatPilesUpBeforeItsFileBreaksARule() {
        let pieces = [Kind](repeating: Self.piece(1 << 18), count: 6)
        #expect(
            excesses([.storing(offset: 0)] + pieces) == ["task 1: 1572864 bytes wait for its file, and 1048576 may"])
        #expect(excesses([.storing(offset: 0)] + pieces.prefix(4) + [.written(1 << 20)] + pieces.prefix(4)).isEmpty)
        // What the file has already is not written.
        #expect(excesses([.storing(offset: 1 << 20)] + pieces).isEmpty)
    }

    @Test func aBodyThatAHandlerCollectsMayBeOfAnySize() {
        #expect(excesses([Kind](repeating: Self.piece(1 << 18), count: 60)).isEmpty)
    }

    // MARK: Content

    private static let versions = [GeneratedContent(size: 9_000, seed: 1), GeneratedContent(size: 9_000, seed: 2)]

    /// What is broken when a task has received pieces of content after a response.
    private func brokenRules(_ head: TransferTrace.ResponseHead, delivering pieces: [Data]) -> [String] {
        var watch = Watch()
        watch.see(Self.head("http://first.example/film", ""), of: 1)
        watch.see(.responseHead(head), of: 1)
        for piece in pieces { watch.checkDelivery(piece, of: 1) { _ in Self.versions } }
        return watch.takeBroken()
    }

    private static func ok(_ fields: [TransferTrace.Field] = []) -> TransferTrace.ResponseHead {
        TransferTrace.ResponseHead(status: 200, reason: "", fields: fields, byteCount: 20)
    }

    @Test func aDeliveredBodyOfTwoVersionsBreaksARule() {
        let (first, second) = (Self.versions[0], Self.versions[1])
        #expect(brokenRules(Self.ok(), delivering: [first.bytes(0..<4_000), first.bytes(4_000..<9_000)]).isEmpty)
        #expect(brokenRules(Self.ok(), delivering: [second.data]).isEmpty)
        let mixed = brokenRules(Self.ok(), delivering: [first.bytes(0..<4_000), second.bytes(4_000..<9_000)])
        #expect(mixed == ["task 1: what it delivers is of none of the versions of http://first.example/film"])
        #expect(brokenRules(Self.ok(), delivering: [first.bytes(100..<200)]).count == 1)
    }

    @Test func whatASequenceOfBytesGivesIsCompared() throws {
        let content = GeneratedContent(size: 300_000, seed: 3)
        try Simulation(1).run { world in
            let url = world.server("mirror.example").route("/film", .generated(content))
            let seen = Mutex(Data())
            ProcessTraces.watch { _, _, sight in
                if case .delivery(let piece) = sight { seen.withLock { $0 += piece } }
            }
            let session = URLSession(configuration: .ephemeral)
            var count = 0
            for try await _ in try await session.bytes(from: url).0 { count += 1 }
            session.invalidateAndCancel()
            #expect(count == content.size)
            #expect(seen.withLock { $0 } == content.data)
        }
    }

    @Test func theRangeOfA206SaysWhereItsBodyBelongs() {
        let head = TransferTrace.ResponseHead(
            status: 206, reason: "", fields: [TransferTrace.Field("Content-Range", "bytes 500-8999/9000")],
            byteCount: 20)
        #expect(brokenRules(head, delivering: [Self.versions[1].bytes(500..<9_000)]).isEmpty)
        #expect(brokenRules(head, delivering: [Self.versions[1].bytes(0..<8_500)]).count == 1)
    }

    @Test func codedContentIsNotComparedWithTheResource() {
        let coded = Self.ok([TransferTrace.Field("Content-Encoding", "gzip")])
        #expect(brokenRules(coded, delivering: [Data("anything".utf8)]).isEmpty)
    }

    /// A handler receives again what a delegate of the task has received before.
    @Test func aHandlerReceivesAllOfTheBody() {
        var watch = Watch()
        watch.see(Self.head("http://first.example/film", ""), of: 1)
        watch.see(.responseHead(Self.ok()), of: 1)
        let call = TransferTrace.DelegateCall(number: 1, method: .completionHandler)
        watch.checkDelivery(Self.versions[0].data, of: 1) { _ in Self.versions }
        watch.see(.queued(call), of: 1)
        watch.see(.began(call), of: 1)
        watch.checkDelivery(Self.versions[0].data, of: 1) { _ in Self.versions }
        #expect(watch.takeBroken().isEmpty)
    }

    @Test func aCompleteFileOfTwoVersionsBreaksARule() {
        var watch = Watch()
        watch.see(Self.head("http://first.example/film", ""), of: 1)
        let (first, second) = (Self.versions[0], Self.versions[1])
        watch.check(second.data, of: 1) { _ in Self.versions }
        #expect(watch.takeBroken().isEmpty)
        watch.check(first.bytes(0..<5_000) + second.bytes(5_000..<9_000), of: 1) { _ in Self.versions }
        #expect(
            watch.takeBroken()
                == ["task 1: its file of 9000 bytes is none of the versions of http://first.example/film"])
        watch.check(first.bytes(0..<5_000), of: 1) { _ in nil }
        #expect(watch.takeBroken().isEmpty)
    }

    /// The rules reach what a program does: here a server lies in a way that no reply announces.
    @Test func whatAProgramReceivesIsWatched() throws {
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in
                let server = world.server("mirror.example")
                let lie = Reply.generated(Self.versions[0]).replacingField("Content-Range", "bytes 200-299/9000")
                var request = URLRequest(url: server.route("/film", lie))
                request.setValue("bytes=100-199", forHTTPHeaderField: "Range")
                _ = try await URLSession.shared.data(for: request)
            }
        }
        guard case .broken(let rules)? = failure?.reason else {
            Issue.record("not broken: \(String(describing: failure?.reason))")
            return
        }
        #expect(rules.first?.contains("what it delivers is of none of the versions") == true)
    }

    /// So is a file that several connections have filled: here the server calls two versions by one tag.
    @Test func aFileOfSeveralConnectionsIsWatched() {
        let failure = #expect(throws: SimulationFailure.self) {
            try Simulation(1).run { world in
                let size = 8 << 20
                let versions = [1, 2].map { Reply.generated(size: size, seed: $0).entityTag("\"v1\"") }
                let url = world.server("mirror.example")
                    .route("/film", versions[0].switching(after: 1, to: versions[1]))
                let home = world.computer("laptop").home
                var configuration = DownloadConfiguration(finishedDirectory: home, unfinishedDirectory: home)
                configuration.connections = 4
                let downloader = Downloader(url: url, configuration: configuration)
                downloader.start()
                _ = try await downloader.file()
            }
        }
        guard case .broken(let rules)? = failure?.reason else {
            Issue.record("not broken: \(String(describing: failure?.reason))")
            return
        }
        #expect(rules.first?.contains("none of the versions of http://mirror.example/film") == true, "\(rules)")
    }

    // MARK: The end

    /// Runs a program that loads a page, and then does something else.
    private static func failure(
        _ change: @escaping @Sendable (World) async throws -> Void
    ) -> SimulationFailure.Reason? {
        do {
            try Simulation(1).run { world in
                let url = world.server("mirror.example").route("/page", .text("page"))
                _ = try await URLSession.shared.data(from: url)
                try await change(world)
            }
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func aTimerThatIsLeftBreaksARule() {
        let left = Self.failure { _ in
            await Self.setTimer(after: .seconds(86_400))
        }
        guard case .broken(let rules)? = left else {
            Issue.record("not broken: \(String(describing: left))")
            return
        }
        #expect(rules == ["program: a timer is set at the end"])
        // One that is over by then, or the program's own, does not.
        #expect(Self.failure { _ in await Self.setTimer(after: .seconds(60)) } == nil)
        #expect(
            Self.failure { world in _ = Task { try await world.sleep(for: .seconds(86_400)) } } == nil)
    }

    @Test func aSocketThatIsLeftBreaksARule() {
        let left = Self.failure { world in await Self.openSocket(in: world) }
        guard case .broken(let rules)? = left else {
            Issue.record("not broken: \(String(describing: left))")
            return
        }
        #expect(rules.count == 1)
        #expect(rules.first?.hasPrefix("program: connection ") == true)
        #expect(rules.first?.hasSuffix(" is open at the end") == true)
    }

    @Test func aFileHasOneWriterAtATime() throws {
        func write(inTurn: Bool) -> SimulationFailure.Reason? {
            do {
                try Simulation(1).run { world in
                    let laptop = world.computer("laptop")
                    let path = laptop.home.appendingPathComponent("film").path
                    for program in ["first", "second"] {
                        let run: @Sendable () async throws -> Void = {
                            try await laptop.run(program) {
                                let file = try SystemFiles().open(path, .existingOrNew)
                                try [UInt8](repeating: 1, count: 9).withUnsafeBytes { try file.write($0, at: 0) }
                                try await world.sleep(for: .seconds(5))
                            }
                        }
                        if inTurn { try await run() } else { _ = Task { try await run() } }
                    }
                    try await world.sleep(for: .seconds(20))
                }
                return nil
            } catch {
                return error.reason
            }
        }
        #expect(write(inTurn: true) == nil)
        guard case .broken(let rules)? = write(inTurn: false) else {
            Issue.record("two programs write to one file")
            return
        }
        let (first, second) = ("laptop/first", "laptop/second")
        let possible = [(first, second), (second, first)].map { "\($0): writes to a file to which \($1) is writing" }
        #expect(rules.count == 1 && possible.contains(rules[0]))
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

    @Test func theResultOfAnAsyncMethodDoesNotWaitForTheDelegate() {
        let queued = TransferTrace.DelegateCall(number: 1, method: .didReceiveInformationalResponse)
        #expect(brokenRules([.queued(queued)] + Self.call(2, .continuation)).isEmpty)
        #expect(!brokenRules([.queued(queued)] + Self.call(2, .completionHandler)).isEmpty)
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
            let session = URLSession(configuration: .ephemeral)
            for _ in 0..<1_500 { _ = try await session.data(from: url) }
            witness.note(
                isQuiet: world.program.isQuiet, dropped: world.program.traces.first?.recording.droppedEvents)
            session.finishTasksAndInvalidate()
        }
        #expect(report.steps > 900)
        #expect(witness.isQuiet)
        #expect(witness.dropped > 0)
    }

    private static func setTimer(after delay: Duration) async {
        await Task { @NetworkActor in _ = EventLoop.shared.schedule(after: delay) {} }.value
    }

    /// Opens a connection of the program's, which no session knows.
    private static func openSocket(in world: World) async {
        await withCheckedContinuation { continuation in
            world.scheduler.within(world.program) {
                world.scheduler.asNetworkThread {
                    let network = world.program.network
                    guard let address = network.address(ofHost: "mirror.example", port: 80) else { return }
                    _ = network.connect(world.program, to: address) { _ in continuation.resume() }
                }
            }
        }
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
