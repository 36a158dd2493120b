import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("Resume data that is used twice, in other sessions, and across redirects", .timeLimit(.minutes(5)))
struct ResumeSharingTests {
    @Test("Two tasks from the same resume data both have the right file")
    func twoTasks() async throws {
        let paused = try await PausedDownload()
        let gate = ServerGate()
        paused.answer(paused.sameResource.stalled(afterBytes: 1_000, until: gate))
        let witness = Witness()
        let session = paused.sandbox.session(witness)
        let tasks = [
            session.downloadTask(withResumeData: paused.blob), session.downloadTask(withResumeData: paused.blob),
        ]
        for task in tasks { task.resume() }
        await gate.reached(times: 2)
        gate.open()
        await witness.completion(of: 2)
        for task in tasks {
            #expect(witness.file(of: task) == paused.content.data)
            #expect(witness.error(of: task) == nil)
        }
        // The file belongs to the first; the second starts over in one of its own.
        #expect(Set(paused.ranges) == ["bytes=100000-", nil])
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("Many concurrent tasks from the same resume data all have the right file")
    func manyTasks() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let session = paused.sandbox.session()
        try await withThrowingTaskGroup(of: URL.self) { group in
            for _ in 0..<20 {
                group.addTask { try await session.download(resumeFrom: paused.blob).0 }
            }
            for try await file in group {
                #expect(try paused.content.matches(fileAt: file))
            }
        }
    }

    @Test("Resume data that is used after the download has completed starts over")
    func usedAgain() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        #expect(await paused.resume().resumedAt == [100_000])
        let again = await paused.resume()
        #expect(again.resumedAt == [0])
        #expect(again.file == paused.content.data)
        #expect(paused.sandbox.partialNames == [])
    }

    @Test("A session with another partials folder starts over")
    func otherFolder() async throws {
        let paused = try await PausedDownload()
        paused.answer(paused.sameResource)
        let other = Sandbox()
        let witness = Witness()
        let session = other.session(witness)
        let task = session.downloadTask(withResumeData: paused.blob).resumed()
        await witness.completion()
        #expect(witness.file(of: task) == paused.content.data)
        #expect(witness.events.first == .resumed(at: 0, of: 300_000))
        #expect(paused.ranges == [nil])
        #expect(other.partialNames == [])
        // The other folder's file is unchanged, so the other session can still resume.
        session.invalidateAndCancel()
        #expect(await paused.resume().resumedAt == [100_000])
    }

    @Test("The task's original and current request are those of the resume data")
    func requests() async throws {
        let paused = try await PausedDownload { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { url in
            var request = URLRequest(url: url, timeoutInterval: 170)
            request.setValue("yes", forHTTPHeaderField: "X-Kept")
            request.setValue("Basic Zm9vOmJhcg==", forHTTPHeaderField: "Authorization")
            return request
        }
        paused.answer(paused.sameResource)
        let session = paused.sandbox.session()
        let task = session.downloadTask(withResumeData: paused.blob)
        #expect(task.originalRequest?.url == paused.server.url(PausedDownload.path))
        #expect(task.currentRequest?.url == paused.server.url(PausedDownload.path))
        #expect(task.originalRequest?.value(forHTTPHeaderField: "X-Kept") == "yes")
        #expect(task.originalRequest?.timeoutInterval == 170)
        #expect(task.originalRequest?.value(forHTTPHeaderField: "Range") == nil)
        #expect(task.state == .suspended)
        task.cancel()
        session.finishTasksAndInvalidate()
        _ = await paused.resume()
        #expect(paused.server.requests.map { $0.fields["X-Kept"] } == ["yes"])
        #expect(paused.server.requests.map { $0.fields["Authorization"] } == ["Basic Zm9vOmJhcg=="])
    }

    // MARK: Redirects

    @Test("A redirect of the range request keeps the range")
    func redirect() async throws {
        let paused = try await PausedDownload()
        paused.answer(.redirect(302, to: "/moved"))
        paused.server.route("/moved", paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(
            outcome.events == [
                .redirect(302, to: "/moved"), .resumed(at: 100_000, of: 300_000), .wrote(300_000, of: 300_000),
                .file(300_000), .completed(nil),
            ])
        #expect(paused.ranges == ["bytes=100000-", "bytes=100000-"])
    }

    @Test("A redirected download resumes at its original URL")
    func redirectedDownload() async throws {
        let server = try LoopbackServer()
        server.route("/start", .redirect(307, to: PausedDownload.path))
        let paused = try await PausedDownload(from: server) { reply in
            reply.entityTag(PausedDownload.tag)
        } request: { _ in
            URLRequest(url: server.url("/start"))
        }
        paused.answer(paused.sameResource)
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(paused.server.requests.map(\.path) == ["/start", PausedDownload.path])
    }

    @Test("A redirect of the range request to another server keeps the range")
    func otherServer() async throws {
        let paused = try await PausedDownload()
        let mirror = try LoopbackServer()
        paused.answer(.redirect(301, to: mirror.route("/mirror", paused.sameResource).absoluteString))
        let outcome = await paused.resume()
        #expect(outcome.file == paused.content.data)
        #expect(outcome.resumedAt == [100_000])
        #expect(mirror.requests.map { $0.fields["Range"] } == ["bytes=100000-"])
    }

    @Test("A redirect of the range request to another resource starts over")
    func otherResource() async throws {
        let paused = try await PausedDownload()
        let newer = GeneratedContent(size: 150_000, seed: 12)
        paused.answer(.redirect(303, to: "/moved"))
        paused.server.route("/moved", .generated(newer).entityTag("\"other\""))
        let outcome = await paused.resume()
        #expect(outcome.file == newer.data)
        #expect(outcome.resumedAt == [0])
    }

    @Test("A redirect of the range request to nowhere keeps the resume data")
    func nowhere() async throws {
        let paused = try await PausedDownload()
        paused.answer(.redirect(302, to: "https://localhost/secure"))
        let outcome = await paused.resume()
        #expect(outcome.error?.code == .unsupportedURL)
        paused.answer(paused.sameResource)
        let second = await paused.resume(try #require(outcome.error?.downloadTaskResumeData))
        #expect(second.file == paused.content.data)
        #expect(second.resumedAt == [100_000])
    }
}
