import Foundation
import Purl
import PurlTesting
import Testing

@testable import SessionFixtures

@Suite("The order of a task's delegate calls", .timeLimit(.minutes(5)))
struct CallOrderTests {
    private let sandbox = Sandbox()

    /// The course of a task.
    enum Story: CaseIterable, Sendable {
        case data, emptyData, chunkedData, notFound
        case download, emptyDownload, resumedDownload, becomesDownload
        case redirect, redirectedDownload, redirectRefused, secondRedirectRefused
        case cancelledBeforeResume, cancelledInBody, cancelledByDisposition, cancelledDownload
        case cutData, cutDownload, refusedConnection, badScheme
        case upload, redirectedUpload
    }

    @Test(
        "A task's calls come in order, one at a time, on the session's queue, the completion last",
        arguments: Story.allCases, CallQueue.allCases)
    func order(_ story: Story, _ queue: CallQueue) async throws {
        let server = try LoopbackServer()
        prepare(server)
        let log = CallLog()
        let witness = story.witness { _, _ in log.visit() }
        let session = sandbox.session(witness, queue: queue.make())
        try await run(story, server, session, witness)
        #expect(witness.events == story.expected)
        #expect(log.count >= story.expected.count)
        #expect(log.mostAtOnce == 1)
        #expect(log.allRan(on: session.delegateQueue))
        #expect(sandbox.partialNames == [])
    }

    private func prepare(_ server: LoopbackServer) {
        let content = GeneratedContent(size: 300_000, seed: 3)
        server.route("/data", .generated(content))
        server.route("/empty", .bytes(Data()))
        server.route("/chunked", .generated(content).chunked(size: 10_000))
        server.route("/resumable", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 100_000, times: 1))
        server.route("/redirect", .redirect(302, to: "/data"))
        server.route("/twice", .redirect(307, to: "/redirect"))
        server.route("/stalled", .generated(content).stalled(afterBytes: 100_000))
        server.route("/cut", .generated(content).cut(afterBytes: 100_000))
        server.route("/upload", .text("thanks"))
        server.route("/moved", .redirect(307, to: "/upload"))
    }

    private func run(
        _ story: Story, _ server: LoopbackServer, _ session: URLSession, _ witness: Witness
    ) async throws {
        let task = story.task(server, session)
        switch story {
        case .cancelledBeforeResume:
            task.cancel()
        case .cancelledInBody:
            task.resume()
            await witness.wait { $0.contains(.data(100_000)) }
            task.cancel()
        case .cancelledDownload:
            task.resume()
            await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
            task.cancel()
        case .resumedDownload:
            let download = try #require(task as? URLSessionDownloadTask)
            download.resume()
            await witness.wait { $0.contains(.wrote(100_000, of: 300_000)) }
            let resumeData = try #require(await download.cancelByProducingResumeData())
            await witness.completion()
            session.downloadTask(withResumeData: resumeData).resume()
            await witness.completion(of: 2)
        default:
            task.resume()
        }
        await witness.completion()
    }
}

extension CallOrderTests.Story {
    func witness(_ hook: @escaping Witness.Hook) -> Witness {
        switch self {
        case .becomesDownload:
            Witness(disposition: .becomeDownload, hook: hook)
        case .cancelledByDisposition:
            Witness(disposition: .cancel, hook: hook)
        case .redirectRefused:
            Witness(redirect: { _ in nil }, hook: hook)
        case .secondRedirectRefused:
            Witness(redirect: { $0.url?.path == "/redirect" ? $0 : nil }, hook: hook)
        default:
            Witness(hook: hook)
        }
    }

    func task(_ server: LoopbackServer, _ session: URLSession) -> URLSessionTask {
        var upload = URLRequest(url: server.url(self == .redirectedUpload ? "/moved" : "/upload"))
        upload.httpMethod = "POST"
        upload.httpBody = Data(count: 200_000)
        return switch self {
        case .data, .becomesDownload, .cancelledByDisposition, .cancelledBeforeResume:
            session.dataTask(with: server.url("/data"))
        case .emptyData: session.dataTask(with: server.url("/empty"))
        case .chunkedData: session.dataTask(with: server.url("/chunked"))
        case .notFound: session.dataTask(with: server.url("/nothing"))
        case .download: session.downloadTask(with: server.url("/data"))
        case .emptyDownload: session.downloadTask(with: server.url("/empty"))
        case .resumedDownload: session.downloadTask(with: server.url("/resumable"))
        case .redirect, .redirectRefused: session.dataTask(with: server.url("/redirect"))
        case .redirectedDownload: session.downloadTask(with: server.url("/redirect"))
        case .secondRedirectRefused: session.dataTask(with: server.url("/twice"))
        case .cancelledInBody: session.dataTask(with: server.url("/stalled"))
        case .cancelledDownload: session.downloadTask(with: server.url("/stalled"))
        case .cutData: session.dataTask(with: server.url("/cut"))
        case .cutDownload: session.downloadTask(with: server.url("/cut"))
        case .refusedConnection: session.dataTask(with: URL(string: "http://127.0.0.1:1/")!)
        case .badScheme: session.dataTask(with: URL(string: "https://127.0.0.1/")!)
        case .upload, .redirectedUpload: session.dataTask(with: upload)
        }
    }

    var expected: [Witness.Event] {
        let size = 300_000
        let part = 100_000
        let wrotePart = Witness.Event.wrote(100_000, of: 300_000)
        let wroteAll = Witness.Event.wrote(300_000, of: 300_000)
        let sentAll = Witness.Event.sent(200_000, of: 200_000)
        return switch self {
        case .data, .chunkedData: [.response(200), .data(size), .completed(nil)]
        case .emptyData: [.response(200), .completed(nil)]
        case .notFound: [.response(404), .completed(nil)]
        case .download: [wroteAll, .file(size), .completed(nil)]
        case .emptyDownload: [.file(0), .completed(nil)]
        case .resumedDownload:
            [
                wrotePart, .completed(.cancelled),
                .resumed(at: 100_000, of: 300_000), wroteAll, .file(size), .completed(nil),
            ]
        case .becomesDownload: [.response(200), .becameDownload, wroteAll, .file(size), .completed(nil)]
        case .redirect: [.redirect(302, to: "/data"), .response(200), .data(size), .completed(nil)]
        case .redirectedDownload: [.redirect(302, to: "/data"), wroteAll, .file(size), .completed(nil)]
        case .redirectRefused: [.redirect(302, to: "/data"), .response(302), .completed(nil)]
        case .secondRedirectRefused:
            [.redirect(307, to: "/redirect"), .redirect(302, to: "/data"), .response(302), .completed(nil)]
        case .cancelledBeforeResume: [.completed(.cancelled)]
        case .cancelledInBody: [.response(200), .data(part), .completed(.cancelled)]
        case .cancelledByDisposition: [.response(200), .completed(.cancelled)]
        case .cancelledDownload: [wrotePart, .completed(.cancelled)]
        case .cutData: [.response(200), .data(part), .completed(.networkConnectionLost)]
        case .cutDownload: [wrotePart, .completed(.networkConnectionLost)]
        case .refusedConnection: [.completed(.cannotConnectToHost)]
        case .badScheme: [.completed(.unsupportedURL)]
        case .upload: [sentAll, .response(200), .data(6), .completed(nil)]
        case .redirectedUpload:
            [sentAll, .redirect(307, to: "/upload"), sentAll, .response(200), .data(6), .completed(nil)]
        }
    }
}
