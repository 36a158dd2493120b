import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting

/// Makes many TLS connections in memory, half of them with a bit flipped at some place of what the server sends, and looks
/// for what they leave: descriptors, memory, sessions.
///
///     TLSEndurance [CONNECTIONS] [SEED]
@main
struct Main {
    private let authority = TestAuthority()
    private let provider: SystemTLS
    private var random: SplitMix
    private var finished = 0
    private var resumed = 0
    private var failed = 0
    private var endless = 0

    static func main() throws {
        let words = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        let count = Int(words.first ?? 100_000)
        let seed = words.dropFirst().first ?? .random(in: 1...1_000_000)
        print("# \(count) connections, seed \(seed)")
        var main = try Main(seed: seed)
        try main.run(count)
    }

    private init(seed: UInt64) throws {
        provider = try SystemTLS.trusting(authority)
        random = SplitMix(state: seed)
    }

    private mutating func run(_ count: Int) throws {
        let functions = try ServerFunctions.shared.get()
        let identity = try authority.issue(.valid(for: ["localhost"]))
        let contexts = try [0x0303, 0x0304].map { try functions.context(identity, versions: $0...$0) }
        defer { contexts.forEach(functions.freeContext) }
        // What is made once: allocators' arenas, OpenSSL's tables, the sessions that are kept.
        for number in 0..<count / 5 { try connect(number, contexts) }
        let before = Footprint.now
        for number in count / 5..<count { try connect(number, contexts) }
        let after = Footprint.now
        print(
            "\(finished) handshakes were done (\(resumed) of them resumed), \(failed) failed, \(endless) waited for more"
        )
        print(
            "memory: \(before.kilobytes) KB, then \(after.kilobytes) KB; descriptors: \(before.descriptors), \(after.descriptors)"
        )
        guard finished + failed + endless == count, finished > count / 3, resumed > finished / 3, failed > count / 10
        else {
            fail("connections are missing")
        }
        guard after.descriptors <= before.descriptors else { fail("descriptors are left") }
        // A leak of a hundred bytes a connection would show.
        guard after.kilobytes - before.kilobytes < max(2048, count * 4 / 5 / 10) else { fail("memory is left") }
        print("ok")
    }

    private mutating func connect(_ number: Int, _ contexts: [OpaquePointer]) throws {
        let request = TLSConnectionRequest(host: "localhost", port: 1 + number % 100)
        let pair = try MemoryPair(provider, serverContext: contexts[number / 2 % 2], request)
        let flip = number % 2 == 0 ? nil : Int(random.next() % 2000)
        var seen = 0
        do {
            let result = try pair.handshake { answer in
                if let flip, flip >= seen, flip < seen + answer.count { answer[flip - seen] ^= 1 << UInt8(flip % 8) }
                seen += answer.count
            }
            _ = try pair.read()
            guard try pair.server.receive(pair.write([1, 2, 3])) == [1, 2, 3] || flip != nil else { fail("no content") }
            finished += 1
            if result.isResumed { resumed += 1 }
        } catch is TLSError {
            guard flip != nil else { fail("a connection fails by itself") }
            failed += 1
        } catch is NoEnd {
            endless += 1
        }
    }

    private func fail(_ sentence: String) -> Never {
        print("FAILED - \(sentence)")
        exit(1)
    }
}

/// What the process holds.
private struct Footprint {
    let kilobytes: Int
    let descriptors: Int

    static var now: Footprint {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
        let kilobytes = line.split(separator: " ").compactMap { Int($0) }.first ?? 0
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        return Footprint(kilobytes: kilobytes, descriptors: descriptors)
    }
}

/// Numbers that depend on the seed alone.
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
