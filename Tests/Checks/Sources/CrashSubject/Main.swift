import Foundation

/// The program that the scripts beside `.ci/run` kill at random moments and let run out of disk space. It is no test
/// itself.
@main
enum Main {
    static func main() async {
        guard let order = Order(words: Array(CommandLine.arguments.dropFirst())) else {
            Lines.printError(Order.usage)
            exit(2)
        }
        do {
            try await carryOut(order)
        } catch {
            Lines.printError("\(error)")
            exit(1)
        }
    }

    private static func carryOut(_ order: Order) async throws {
        switch order {
        case .serve(let bytesPerSecond):
            try FileServer(bytesPerSecond: bytesPerSecond).run()
        case .session(let relaunch, let home, let urls):
            printPaths(try await SessionDownloads(urls, in: home, relaunch).run())
        case .manager(let home, let urls):
            printPaths(try await ManagerDownloads(urls, in: home).run())
        case .full(let kind, let folder, let url):
            try await repeatUntilDone(kind.attempts(at: url, in: folder))
        }
    }

    /// One line for each file: where it is.
    private static func printPaths(_ files: [URL]) {
        for file in files { Lines.print(file.path) }
    }

    /// Prints how an attempt failed, and makes the next when a line comes in.
    private static func repeatUntilDone(_ attempts: any Attempts) async throws {
        while true {
            do {
                let file = try await attempts.next()
                return Lines.print("done \(file.path)")
            } catch {
                Lines.print(Failure(error, recorded: attempts.bytesRecorded).line)
                guard readLine() != nil else { throw error }
            }
        }
    }
}

/// What the program does.
enum Order {
    /// Serve files until standard input ends.
    case serve(bytesPerSecond: Int)
    /// Download in a background session.
    case session(SessionDownloads.Relaunch, home: URL, [URL])
    /// Download with a download manager.
    case manager(home: URL, [URL])
    /// Download to a disk that is too small, again and again.
    case full(StorageKind, folder: URL, URL)

    static let usage = """
        usage: CrashSubject serve BYTES-PER-SECOND
               CrashSubject session continue|resume-data HOME URL...
               CrashSubject manager HOME URL...
               CrashSubject full task|session|sink|manager FOLDER URL
        """

    init?(words: [String]) {
        guard let name = words.first else { return nil }
        let rest = Array(words.dropFirst())
        switch (name, rest.count) {
        case ("serve", 1):
            guard let rate = Int(rest[0]) else { return nil }
            self = .serve(bytesPerSecond: rate)
        case ("session", 3...):
            guard let relaunch = SessionDownloads.Relaunch(rawValue: rest[0]) else { return nil }
            self = .session(relaunch, home: Self.folder(rest[1]), Self.urls(rest[2...]))
        case ("manager", 2...):
            self = .manager(home: Self.folder(rest[0]), Self.urls(rest[1...]))
        case ("full", 3):
            guard let kind = StorageKind(rawValue: rest[0]), let url = URL(string: rest[2]) else { return nil }
            self = .full(kind, folder: Self.folder(rest[1]), url)
        default:
            return nil
        }
    }

    private static func folder(_ path: String) -> URL { URL(fileURLWithPath: path, isDirectory: true) }

    private static func urls(_ words: ArraySlice<String>) -> [URL] { words.compactMap { URL(string: $0) } }
}

/// What a script reads.
enum Lines {
    /// A line on standard output, at once.
    static func print(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// A line on standard error.
    static func printError(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}
