import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Cancelling a task that writes to a sink, and one writer at a time", .timeLimit(.minutes(5)))
struct SinkCancellingTests {
    private let witness = Witness()

    @Test("Cancelling writes the received bytes and the record", arguments: SinkKind.allCases)
    func cancelled(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let gate = ServerGate()
        bench.answer(bench.good.stalled(afterBytes: 100_000, until: gate))
        let session = bench.sandbox.session(witness)
        let task = session.dataTask(with: bench.url, writingTo: kind.sink(at: bench.file)).resumed()
        await gate.reached()
        task.cancel()
        await witness.completion()
        expectError(witness.error(of: task), .cancelled, about: bench.url)
        // However many bytes had been received.
        let length = bench.bytes?.count ?? 0
        #expect(bench.recorded?["bytesReceived"] as? Int ?? 0 == length)
        #expect(bench.bytes ?? Data() == bench.content.bytes(0..<length))
        gate.open()
        session.invalidateAndCancel()
        bench.answer(bench.good)
        await bench.run()
        #expect(bench.bytes == bench.content.data)
        #expect(bench.ranges == [length == 0 ? nil : "bytes=\(length)-"])
    }

    @Test("A large file is complete after many cancellations", arguments: SinkKind.allCases)
    func cancelledManyTimes(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let content = GeneratedContent(size: 6_000_000, seed: 5)
        let gates = (0..<10).map { _ in ServerGate() }
        let stalls = gates.map { Reply.generated(content).entityTag("\"v1\"").stalled(afterBytes: 400_000, until: $0) }
        let session = bench.sandbox.session(witness)
        bench.answer(.sequence(stalls + [.generated(content).entityTag("\"v1\"")]))
        for (index, gate) in gates.enumerated() {
            let task = session.dataTask(with: bench.url, writingTo: kind.sink(at: bench.file)).resumed()
            await gate.reached()
            task.cancel()
            await witness.completion(of: index + 1)
            let bytes = bench.bytes ?? Data()
            #expect(content.matches(bytes))
            #expect(bench.recorded?["bytesReceived"] as? Int ?? 0 == bytes.count)
            gate.open()
        }
        session.invalidateAndCancel()
        await bench.run()
        #expect(bench.bytes == content.data)
    }

    @Test("Cancelling before resume leaves the file", arguments: SinkKind.allCases)
    func beforeResume(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let before = try Data(contentsOf: bench.record)
        let session = bench.sandbox.session(witness)
        let task = session.dataTask(with: bench.url, writingTo: kind.sink(at: bench.file))
        task.cancel()
        await witness.completion()
        #expect(witness.events == [.completed(.cancelled)])
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        #expect(try Data(contentsOf: bench.record) == before)
    }

    @Test("A response that the delegate cancels leaves the file", arguments: SinkKind.allCases)
    func refusedResponse(kind: SinkKind) async throws {
        for isChanged in [false, true] {
            let bench = try SinkBench(kind)
            await bench.writeTheBeginning()
            if isChanged { bench.answer(.generated(size: 200_000, seed: 8).entityTag("\"v2\"")) }
            let outcome = await bench.run(disposition: .cancel)
            #expect(outcome.events == [.response(isChanged ? 200 : 206), .completed(.cancelled)])
            #expect(bench.bytes == bench.content.bytes(0..<100_000))
            bench.answer(bench.good)
            await bench.run()
            #expect(bench.bytes == bench.content.data)
            #expect(bench.ranges == ["bytes=100000-"])
        }
    }

    @Test("becomeDownload has no effect on a task with a sink", arguments: SinkKind.allCases)
    func becomeDownload(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        bench.answer(bench.good)
        let outcome = await bench.run(disposition: .becomeDownload)
        #expect(outcome.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.sandbox.partialNames == [])
    }

    @Test(
        "becomeDownload and becomeStream have no effect on an error response", arguments: SinkKind.allCases,
        [URLSession.ResponseDisposition.becomeDownload, .becomeStream])
    func errorPage(kind: SinkKind, disposition: URLSession.ResponseDisposition) async throws {
        let bench = try SinkBench(kind)
        bench.answer(.text("no such thing").status(404))
        let first = await bench.run(disposition: disposition)
        #expect(first.events == [.response(404), .data(13), .completed(nil)])
        #expect(bench.bytes ?? Data() == Data())

        await bench.writeTheBeginning()
        bench.answer(.text("no such thing").status(404))
        let second = await bench.run(disposition: disposition)
        #expect(second.events == [.response(404), .data(13), .completed(nil)])
        #expect(bench.bytes == bench.content.bytes(0..<100_000))
        #expect(bench.sandbox.partialNames == [])
    }

    // MARK: One writer at a time

    @Test("A second sink on a file in use fails", arguments: SinkKind.allCases, SinkKind.allCases)
    func fileInUse(kind: SinkKind, second: SinkKind) async throws {
        let bench = try SinkBench(kind)
        await bench.writeTheBeginning()
        let gate = ServerGate()
        bench.answer(bench.good.stalled(afterBytes: 50_000, until: gate))
        let session = bench.sandbox.session(witness)
        session.dataTask(with: bench.url, writingTo: kind.sink(at: bench.file)).resume()
        // The file was opened and locked before the request was sent.
        await gate.reached()

        let rival = Witness()
        let rivals = bench.sandbox.session(rival)
        let task = rivals.dataTask(with: bench.url, writingTo: second.sink(at: bench.file)).resumed()
        await rival.wait { !$0.isEmpty }
        gate.open()
        await rival.completion()
        expectError(rival.error(of: task), .cannotOpenFile, about: bench.url)
        #expect(rival.events == [.completed(.cannotOpenFile)])
        await witness.completion()
        #expect(witness.events == [.response(206), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
    }

    /// Two tasks are given the sink: the second fails while the first writes, which gets the whole file.
    private func expectOneWriter(of sink: any BodySink, _ bench: SinkBench) async {
        let gate = ServerGate()
        bench.answer(bench.good.stalled(afterBytes: 50_000, until: gate))
        let session = bench.sandbox.session(witness)
        session.dataTask(with: bench.url, writingTo: sink).resume()
        await gate.reached()
        let rival = Witness()
        let task = bench.sandbox.session(rival).dataTask(with: bench.url, writingTo: sink).resumed()
        await rival.completion()
        gate.open()
        expectError(rival.error(of: task), .cannotOpenFile, about: bench.url)
        let sentence = rival.error(of: task)?.failureSentence ?? ""
        #expect(sentence.contains("another task is writing to the same sink"))
        #expect(rival.events == [.completed(.cannotOpenFile)])
        await witness.completion()
        #expect(bench.server.requests.count == 1)
        #expect(witness.events == [.response(200), .completed(nil)])
        #expect(bench.bytes == bench.content.data)
    }

    @Test("A second task with a sink in use fails, and leaves the first one its file", arguments: SinkKind.allCases)
    func sinkInUse(kind: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let sink = kind.sink(at: bench.file)
        await expectOneWriter(of: sink, bench)
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
        // When that is over, the sink is free.
        let next = await bench.run(into: sink)
        #expect(next.error == nil)
        #expect(next.received == 300_000)
    }

    @Test("A stream's sink in use fails a second task, and takes no bytes of its response")
    func streamInUse() async throws {
        let bench = try SinkBench(.outputStream)
        let stream = try #require(OutputStream(url: bench.file, append: false))
        await expectOneWriter(of: OutputStreamSink(stream), bench)
    }

    @Test(
        "A task that follows a cancelled one with the same sink completes its file", arguments: SinkKind.allCases,
        Seeds.some(4))
    func cancelledAndFollowed(kind: SinkKind, seed: Seed) throws {
        try Simulation(seed).run { world in
            let content = GeneratedContent(size: 100_000, seed: 3)
            let good = Reply.generated(content).entityTag("\"v1\"").inPieces(of: 2_500)
            let url = world.server("mirror.example").route("/file", good)
            for round in 0..<40 {
                let (sandbox, witness) = (Sandbox(), Witness())
                let file = sandbox.file("movie")
                let session = sandbox.session(witness)
                let sink = kind.sink(at: file)
                let first = session.dataTask(with: url, writingTo: sink).resumed()
                try await world.sleep(for: .milliseconds(3 * round))
                first.cancel()
                let second = session.dataTask(with: url, writingTo: sink).resumed()
                await witness.completion(of: 2)
                #expect(witness.error(of: second) == nil)
                #expect(try content.matches(fileAt: file))
                session.invalidateAndCancel()
            }
        }
    }

    @Test("Of two tasks on a new file the first to write has it", arguments: SinkKind.allCases, SinkKind.allCases)
    func newFile(kind: SinkKind, second: SinkKind) async throws {
        let bench = try SinkBench(kind)
        let (start, end) = (ServerGate(), ServerGate())
        bench.answer(bench.good.delayed(until: start).stalled(afterBytes: 100_000, until: end))
        let session = bench.sandbox.session(witness)
        let tasks = [kind, second].map { session.dataTask(with: bench.url, writingTo: $0.sink(at: bench.file)) }
        for task in tasks { task.resume() }
        await start.reached(times: 2)
        start.open()
        await witness.completion()
        end.open()
        await witness.completion(of: 2)
        let errors = tasks.compactMap { witness.error(of: $0) }
        #expect(errors.count == 1)
        expectError(errors.first, .cannotOpenFile, about: bench.url)
        #expect(bench.bytes == bench.content.data)
        #expect(bench.recorded?["bytesReceived"] as? Int == 300_000)
    }

    @Test("A file is free as soon as its task has completed", arguments: SinkKind.allCases, [200, 404])
    func released(kind: SinkKind, status: Int) async throws {
        let bench = try SinkBench(kind)
        let sink = kind.sink(at: bench.file)
        bench.answer(status == 200 ? bench.good.cut(afterBytes: 100_000, times: 1) : .status(status))
        await bench.run(into: sink)
        bench.answer(bench.good)
        let outcome = await bench.run(into: kind.sink(at: bench.file))
        #expect(outcome.error == nil)
        #expect(bench.bytes == bench.content.data)
        withExtendedLifetime(sink) {}
    }
}
