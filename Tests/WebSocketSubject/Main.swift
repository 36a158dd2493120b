import Foundation
import Purl

/// Speaks to WebSocket servers of others, and says what came of it.
///
///     WebSocketSubject echo ws://HOST:PORT/          messages of 1 byte to 64 MiB come back, compressed or not
///     WebSocketSubject crowd ws://HOST:PORT/ COUNT   so many connections at once
///     WebSocketSubject autobahn ws://HOST:PORT       all cases of the Autobahn test suite's fuzzing server
///
/// Each check prints a line that begins with "ok" or "FAILED".
@main
enum Main {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 2, let url = URL(string: words[1]) else {
            print("usage: WebSocketSubject echo|crowd|autobahn URL [COUNT]")
            exit(2)
        }
        let isGood: Bool
        switch words[0] {
        case "echo": isGood = await EchoChecks(url).run()
        case "crowd": isGood = await Crowd(url, count: words.count > 2 ? Int(words[2]) ?? 1_000 : 1_000).run()
        case "autobahn": isGood = await AutobahnCases(url).run()
        default: exit(2)
        }
        exit(isGood ? 0 : 1)
    }
}
