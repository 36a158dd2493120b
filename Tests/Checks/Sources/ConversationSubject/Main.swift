import Foundation
import Purl

/// Checks WebSockets and streams against other software's servers, and prints the results.
///
///     ConversationSubject echo ws://HOST:PORT/          messages of 1 byte to 64 MiB come back, compressed or not
///     ConversationSubject crowd ws://HOST:PORT/ COUNT   so many WebSockets at once
///     ConversationSubject autobahn ws://HOST:PORT       all cases of the Autobahn test suite's fuzzing server
///     ConversationSubject redis redis://HOST:PORT       streams to a Redis server
///     ConversationSubject vanish ws://HOST:PORT/ SECONDS   how soon it is noticed that the network is gone
///
/// Each check prints a line that begins with "ok" or "FAILED".
@main
enum Main {
    static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count >= 2, let url = URL(string: words[1]) else {
            print("usage: ConversationSubject echo|crowd|autobahn|redis|vanish URL [COUNT]")
            exit(2)
        }
        let isGood: Bool
        switch words[0] {
        case "echo": isGood = await EchoChecks(url).run()
        case "crowd": isGood = await Crowd(url, count: words.count > 2 ? Int(words[2]) ?? 1_000 : 1_000).run()
        case "autobahn": isGood = await AutobahnCases(url).run()
        case "redis": isGood = await RedisChecks(url).run()
        case "vanish": isGood = await LinkLoss(url, limit: words.count > 2 ? Double(words[2]) ?? 10 : 10).run()
        default: exit(2)
        }
        exit(isGood ? 0 : 1)
    }
}
