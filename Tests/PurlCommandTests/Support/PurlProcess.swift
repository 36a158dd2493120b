import Foundation

/// The built executable at work.
struct PurlProcess {
    /// What it prints, on both outputs, line by line as it comes; ends when the process does.
    let lines: AsyncStream<String>

    private let process = Process()
    private let exit: AsyncStream<Int32>

    /// Starts `purl` with these arguments.
    init(_ arguments: [String], in folder: TemporaryFolder) throws {
        let (lines, toLines) = AsyncStream<String>.makeStream()
        let (exit, toExit) = AsyncStream<Int32>.makeStream()
        self.lines = lines
        self.exit = exit
        let pipe = Pipe()
        process.executableURL = try Self.executable()
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        process.standardOutput = pipe
        process.standardError = pipe
        process.terminationHandler = { process in
            toExit.yield(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)
            toExit.finish()
        }
        try process.run()
        Self.read(pipe.fileHandleForReading, into: toLines)
    }

    /// Runs `purl` to its end.
    static func run(
        _ arguments: [String], in folder: TemporaryFolder
    ) async throws -> (exitCode: Int32, lines: [String]) {
        let process = try PurlProcess(arguments, in: folder)
        var lines: [String] = []
        for await line in process.lines { lines.append(line) }
        return (await process.exitCode, lines)
    }

    /// The exit code; negative when a signal ended the process.
    var exitCode: Int32 {
        get async {
            for await code in exit { return code }
            return .min
        }
    }

    func signal(_ number: Int32) {
        kill(process.processIdentifier, number)
    }

    private static func read(_ handle: FileHandle, into lines: AsyncStream<String>.Continuation) {
        Thread.detachNewThread {
            var rest = Data()
            while case let data = handle.availableData, !data.isEmpty {
                rest.append(data)
                while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                    lines.yield(String(decoding: rest[..<end], as: UTF8.self))
                    rest = Data(rest[rest.index(after: end)...])
                }
            }
            if !rest.isEmpty { lines.yield(String(decoding: rest, as: UTF8.self)) }
            lines.finish()
        }
    }

    private struct NotBuilt: Error {}

    /// The executable lies beside the bundle or program that runs the tests.
    private static func executable() throws -> URL {
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let places = bundles + [Bundle.main.executableURL, Bundle.main.bundleURL].compactMap(\.self)
        for place in places {
            for folder in [place, place.deletingLastPathComponent()] {
                let candidate = folder.appendingPathComponent("purl")
                if FileManager.default.isExecutableFile(atPath: candidate.path) { return candidate }
            }
        }
        throw NotBuilt()
    }
}
