import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

/// What an observer knows of an upload when something comes between.
@Suite struct UnluckyUploadsTests {
    /// The response comes while the file is still being read for what it takes to resume.
    @Test(arguments: Seeds.some(60), [nil, 2])
    func whatAnObserverReceivesResumesAnUploadThatARefusalHasEnded(seed: Seed, bytesOfRefusal: Int?) throws {
        try Simulation(seed).run { world in
            world.chaos = .slowDisk
            let target = UploadTarget()
            target.fault(.connection(.cut), at: .offset(30_000))
            let refusal = Reply.text("busy").status(429)
            target.fault(.reply(bytesOfRefusal.map { refusal.cut(afterBytes: $0) } ?? refusal), at: .append)
            let url = world.server("mirror.example").route("/files", .upload(to: target))
            let content = GeneratedContent(size: 100_000, seed: 3).data
            let file = world.computer("laptop").home.appendingPathComponent("film")
            try content.write(to: file)
            let configuration = URLSessionConfiguration.ephemeral
            configuration.resumableUploads = .always
            let delegate = RecordingDelegate()
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            let task = session.uploadTask(with: request, fromFile: file)
            let observed = Mutex<Data?>(nil)
            task.observeResumeData { data in observed.withLock { $0 = data } }
            task.resume()
            await delegate.completion()
            #expect((task.response as? HTTPURLResponse)?.statusCode == 429)
            #expect((delegate.error as? URLError)?.code == (bytesOfRefusal == nil ? nil : .networkConnectionLost))
            let data = try #require(observed.withLock { $0 })
            _ = try await session.upload(resumeFrom: data)
            session.finishTasksAndInvalidate()
            #expect(target.uploads.map(\.content) == [content])
            #expect(target.acceptedBytes == content.count)
        }
    }
}
