import Foundation
import Purl
import PurlTesting

/// `purl demo`: a download that is cut off, resumed, stopped, resumed and checked, without a network.
struct Demo {
    private static let size = 64 << 20
    /// Where the server hangs up, once.
    private static let cut = 24 << 20
    /// Where the user presses pause, more or less.
    private static let pause = 48 << 20
    /// Slow enough to watch.
    private static let bytesPerSecond = 32 << 20
    private static let path = "/film.bin"

    private let console: Console

    /// - Parameter console: Where everything is told.
    init(console: Console) {
        self.console = console
    }

    func run() async -> ExitCode {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("purl-demo-\(UUID().uuidString.lowercased())", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let console = console
        Interrupts(console).onInterrupt {
            console.erase()
            try? FileManager.default.removeItem(at: folder)
            exit(ExitCode.interrupted.rawValue)
        }
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            return try await tellStory(in: folder)
        } catch let failure as CommandFailure {
            console.say("purl: \(failure.sentence)")
        } catch {
            console.say("purl: \(error)")
        }
        return .failure
    }

    private func tellStory(in folder: URL) async throws -> ExitCode {
        let content = GeneratedContent(size: Self.size)
        // The server's bytes are digested while they are on their way.
        async let expected = Task.detached { Digest.of(content) }.value
        let server = try await LoopbackServer.started()
        let url = server.route(
            Self.path,
            .generated(content).entityTag("\"take-1\"").throttled(bytesPerSecond: Self.bytesPerSecond)
                .cut(afterBytes: Self.cut, times: 1))

        let delegate = DownloadDelegate(place: folder.appendingPathComponent("film.bin"), console: console)
        let configuration = URLSessionConfiguration.default
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)

        console.say("A server on this machine has \(Self.path), \(ByteText.count(Int64(content.size))).")
        let attempts = try await download(url, session, delegate)
        session.finishTasksAndInvalidate()

        let requests = await server.waitUntilIdle()
        server.stop()
        tellWire(requests, attempts)
        return try await check(attempts.last?.file, await expected)
    }

    // MARK: The three attempts

    private func download(
        _ url: URL, _ session: URLSession, _ delegate: DownloadDelegate
    ) async throws(CommandFailure) -> [Attempt] {
        console.say("\n1. session.downloadTask(with: url)")
        let first = await delegate.run(session.downloadTask(with: url))
        let resumeData = try resumeData(of: first)
        console.say("   \(sentence(first))")
        console.say("   The error's userInfo holds the resume data, a property list:\n")
        for line in ResumeDataText.lines(resumeData, width: min(100, console.size.width) - 6) {
            console.say("     \(line)")
        }

        console.say("\n2. session.downloadTask(withResumeData: data)")
        let second = await delegate.run(
            session.downloadTask(withResumeData: resumeData), stopsAt: Int64(Self.pause))
        let newResumeData = try self.resumeData(of: second)
        console.say("   Paused with cancel(byProducingResumeData:), which hands over new resume data.")

        console.say("\n3. session.downloadTask(withResumeData: newData)")
        let third = await delegate.run(session.downloadTask(withResumeData: newResumeData))
        guard third.file != nil else { throw CommandFailure(sentence(third)) }
        console.say("   The file is complete.")
        return [first, second, third]
    }

    private func resumeData(of attempt: Attempt) throws(CommandFailure) -> Data {
        guard let resumeData = attempt.resumeData else { throw CommandFailure(sentence(attempt)) }
        return resumeData
    }

    private func sentence(_ attempt: Attempt) -> String {
        attempt.error?.localizedDescription ?? "The download ended otherwise than the demo has it."
    }

    // MARK: Afterwards

    private func tellWire(_ requests: [ReceivedRequest], _ attempts: [Attempt]) {
        console.say("\nOver the wire, as the server recorded it:")
        for line in WireReport.lines(requests, statuses: attempts.map(\.status)) { console.say(line) }
        let sent = requests.reduce(0) { $0 + $1.bytesSent }
        console.say("  In all \(sent) bytes for a file of \(Self.size).")
    }

    private func check(_ file: URL?, _ expected: String) async throws -> ExitCode {
        guard let file else { throw CommandFailure("There is no file to check.") }
        let found = try await Checksum.ofFile(at: file).hexadecimal
        console.say("\nSHA-256:")
        console.say("  server  \(expected)")
        console.say("  file    \(found)")
        guard expected == found else {
            throw CommandFailure("The file is not what the server has.")
        }
        console.say("They agree: the pieces fit to the byte.")
        return .success
    }
}
