import Foundation
import Purl
import PurlTesting
import Testing

/// A download may be stopped and gone on with as often as one likes.
@Suite(.timeLimit(.minutes(3))) struct PausingTests {
    private let content = GeneratedContent(size: 1_020_000, seed: 11)
    private let step = 20_000

    /// - Parameter waits: The next task is made after the completion of the one before; otherwise as soon as its
    ///   resume data is there.
    @Test(arguments: [true, false])
    func fiftyPausesLeaveNoTrace(waits: Bool) async throws {
        let step = step
        let server = try LoopbackServer()
        server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: step, times: 50))
        let sandbox = try Sandbox()
        let witness = Witness()
        let session = sandbox.session(witness)
        var task = session.downloadTask(with: server.url("/file"))
        for pause in 1...50 {
            task.resume()
            await witness.wait { events in
                events.count { if case .wrote(let total, _) = $0 { total % Int64(step) == 0 } else { false } } >= pause
            }
            let blob = try #require(await task.cancelByProducingResumeData())
            if waits { await witness.completion(of: pause) }
            task = session.downloadTask(withResumeData: blob)
        }
        task.resume()
        await witness.completion(of: 51)
        #expect(witness.file(of: task) == content.data)
        #expect(witness.error(of: task) == nil)
        let requests = server.requests
        #expect(requests.map { $0.fields["Range"] } == [nil] + (1...50).map { "bytes=\($0 * step)-" })
        #expect(requests.dropFirst().allSatisfy { $0.fields["If-Range"] == "\"v1\"" })
        #expect(requests.map(\.bytesSent) == Array(repeating: step, count: 51))
        let offsets = witness.events.compactMap { if case .resumed(let offset, _) = $0 { offset } else { nil } }
        #expect(offsets == (1...50).map { Int64($0 * step) })
        #expect(sandbox.partialNames == [])
        session.invalidateAndCancel()
    }
}
