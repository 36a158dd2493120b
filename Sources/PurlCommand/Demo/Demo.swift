import Foundation
import Purl
import PurlHTTP
import PurlTesting

/// `purl demo`: a download that is cut off, resumed, stopped, resumed and checked, without a network.
struct Demo {
    private static let size = 64 << 20
    /// Where the server closes the connection, once.
    private static let cut = 24 << 20
    /// Where the download is paused, approximately.
    private static let pause = 48 << 20
    /// Slow enough to watch.
    private static let bytesPerSecond = 32 << 20
    private static let path = "/film.bin"

    private let console: Console
    private let traceFile: TraceFile?
    private let trace: TransferTrace?

    /// - Parameters:
    ///   - console: Where the demo is printed.
    ///   - trace: Where what happens is recorded.
    init(console: Console, trace: TraceFile? = nil) {
        self.console = console
        traceFile = trace
        self.trace = trace?.makeTrace()
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
            let place = try traceFile?.checked()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let code = try await run(in: folder)
            if let trace, let traceFile {
                try place?.write(trace.recording)
                console.print("What has happened is in \(traceFile.path).")
            }
            return code
        } catch let failure as CommandFailure {
            console.print("purl: \(failure.sentence)")
        } catch {
            console.print("purl: \(error)")
        }
        return .failure
    }

    private func run(in folder: URL) async throws -> ExitCode {
        let content = GeneratedContent(size: Self.size)
        // The server's bytes are digested during the download.
        async let expected = Task.detached { content.sha256 }.value
        let server = try await LoopbackServer.started()
        let url = server.route(
            Self.path,
            .generated(content).entityTag("\"take-1\"").throttled(bytesPerSecond: Self.bytesPerSecond)
                .cut(afterBytes: Self.cut, times: 1))

        let delegate = DemoDelegate(place: folder.appendingPathComponent("film.bin"), console: console)
        let configuration = URLSessionConfiguration.default
        configuration.partialDownloadsDirectory = folder.appendingPathComponent("partials", isDirectory: true)
        configuration.trace = trace
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)

        console.print("A server on this machine has \(Self.path), \(ByteText.count(Int64(content.size))).")
        let attempts = try await download(url, session, delegate)
        session.finishTasksAndInvalidate()

        let requests = await server.waitUntilIdle()
        server.stop()
        printRequests(requests, attempts)
        return try await check(attempts.last?.file, await expected)
    }

    // MARK: The three attempts

    private func download(
        _ url: URL, _ session: URLSession, _ delegate: DemoDelegate
    ) async throws(CommandFailure) -> [DemoAttempt] {
        console.print("\n1. session.downloadTask(with: url)")
        let first = await delegate.run(session.downloadTask(with: url))
        let resumeData = try resumeData(of: first)
        console.print("   \(sentence(first))")
        console.print("   The error's userInfo holds the resume data, a property list:\n")
        for line in ResumeDataText.lines(resumeData, width: min(100, console.size.width) - 6) {
            console.print("     \(line)")
        }

        console.print("\n2. session.downloadTask(withResumeData: data)")
        let second = await delegate.run(
            session.downloadTask(withResumeData: resumeData), stopsAt: Int64(Self.pause))
        let newResumeData = try self.resumeData(of: second)
        console.print("   Paused with cancel(byProducingResumeData:), which returns new resume data.")

        console.print("\n3. session.downloadTask(withResumeData: newData)")
        let third = await delegate.run(session.downloadTask(withResumeData: newResumeData))
        guard third.file != nil else { throw CommandFailure(sentence(third)) }
        console.print("   The file is complete.")
        return [first, second, third]
    }

    private func resumeData(of attempt: DemoAttempt) throws(CommandFailure) -> Data {
        guard let resumeData = attempt.resumeData else { throw CommandFailure(sentence(attempt)) }
        return resumeData
    }

    private func sentence(_ attempt: DemoAttempt) -> String {
        attempt.error?.failureSentence ?? "The download did not end as the demo expects."
    }

    // MARK: Results

    private func printRequests(_ requests: [ReceivedRequest], _ attempts: [DemoAttempt]) {
        console.print("\nOver the wire, as the server recorded it:")
        for line in WireReport.lines(requests, statuses: attempts.map(\.status)) { console.print(line) }
        let sent = requests.reduce(0) { $0 + $1.bytesSent }
        console.print("  \(sent) bytes in all for a file of \(Self.size) bytes.")
    }

    private func check(_ file: URL?, _ expected: String) async throws -> ExitCode {
        guard let file else { throw CommandFailure("There is no file to check.") }
        let found = try await Checksum.ofFile(at: file).hexadecimal
        console.print("\nSHA-256:")
        console.print("  server  \(expected)")
        console.print("  file    \(found)")
        guard expected == found else {
            throw CommandFailure("The file differs from the server's.")
        }
        console.print("The digests match.")
        return .success
    }
}

extension GeneratedContent {
    /// The SHA-256 of the content, hexadecimal.
    var sha256: String {
        let pieceLength = 1 << 20
        var digest = SHA256()
        for start in stride(from: 0, to: size, by: pieceLength) {
            digest.update(bytes(start..<min(size, start + pieceLength)).bytes)
        }
        return SHA256.hexadecimal(digest.finalize())
    }
}
