import Foundation

/// The program that the scripts beside `.ci/run` kill at random moments and let run out of disk space. It is no test
/// itself.
@main
enum Main {
    static func main() async {
        guard let order = Order(words: Array(CommandLine.arguments.dropFirst())) else {
            Lines.complain(Order.usage)
            exit(2)
        }
        do {
            try await carryOut(order)
        } catch {
            Lines.complain("\(error)")
            exit(1)
        }
    }

    private static func carryOut(_ order: Order) async throws {
        switch order {
        case .serve(let bytesPerSecond):
            try FileServer(bytesPerSecond: bytesPerSecond).run()
        case .session(let relaunch, let home, let urls):
            tell(try await SessionDownloads(urls, in: home, relaunch).run())
        case .manager(let home, let urls):
            tell(try await ManagerDownloads(urls, in: home).run())
        case .full(let kind, let folder, let url):
            try await repeatUntilDone(kind.attempts(at: url, in: folder))
        }
    }

    /// One line for each file: where it is.
    private static func tell(_ files: [URL]) {
        for file in files { Lines.say(file.path) }
    }

    /// Tells how an attempt failed, and makes the next when a line comes in.
    private static func repeatUntilDone(_ attempts: any Attempts) async throws {
        while true {
            do {
                let file = try await attempts.next()
                return Lines.say("done \(file.path)")
            } catch {
                Lines.say(Failure(error, recorded: attempts.bytesRecorded).line)
                guard readLine() != nil else { throw error }
            }
        }
    }
}
