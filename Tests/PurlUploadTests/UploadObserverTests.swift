import Foundation
import PurlTesting
import Testing

@testable import Purl
@testable import SessionFixtures

@Suite("The resume data of an upload that is under way", .timeLimit(.minutes(5)))
struct UploadObserverTests {
    @Test("What it takes to resume an upload is delivered when the server has offered it, and resumes it")
    func resumes() async throws {
        let site = try ResumableSite()
        let gate = ServerGate()
        site.target.fault(.connection(.stall(until: gate)), at: .offset(400_000))
        let (observed, continuation) = AsyncStream.makeStream(of: Data?.self)
        let session = site.session()
        let task = session.uploadTask(with: site.request(), fromFile: site.file)
        task.observeResumeData { continuation.yield($0) }
        task.resume()
        var calls = observed.makeAsyncIterator()
        let call = await calls.next()
        let data = try #require(call ?? nil)
        await gate.reached()
        #expect(task.state == .running && site.methods == ["PUT"])
        _ = await task.cancelByProducingResumeData()
        let (body, _) = try await session.upload(resumeFrom: data)
        #expect(body == Data("done".utf8))
        #expect(site.methods == ["PUT", "HEAD", "PATCH"])
        site.expectWhole()
    }

    @Test("Another call follows when the upload continues, and none follows the completion")
    func order() async throws {
        let site = try ResumableSite()
        let offered = ServerGate()
        let continued = ServerGate()
        site.target.fault(.connection(.stall(until: offered)), at: .offset(300_000))
        site.target.fault(.connection(.cut), at: .offset(600_000))
        site.target.fault(.connection(.stall(until: continued)), at: .offset(900_000))
        let log = EventLog<Bool>()
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file)
        task.observeResumeData { log.append($0 != nil) }
        task.resume()
        await log.wait { $0.count == 1 }
        offered.open()
        await log.wait { $0.count > 1 }
        continued.open()
        await witness.completion()
        let calls = log.events
        session.finishTasksAndInvalidate()
        await session.delegateQueueHasMadeItsCalls()
        #expect(log.events == calls && calls.allSatisfy { $0 })
        site.expectWhole()
    }

    @Test("A server that offers nothing leaves the observer uncalled")
    func withoutOffer() async throws {
        let site = try ResumableSite(UploadTarget(versions: [], reply: .text("done").status(201)))
        let log = EventLog<Bool>()
        let witness = UploadWitness()
        let session = site.session(witness)
        let task = session.uploadTask(with: site.request(), fromFile: site.file)
        task.observeResumeData { log.append($0 != nil) }
        task.resume()
        await witness.completion()
        #expect(task.error == nil && log.events.isEmpty)
    }
}
