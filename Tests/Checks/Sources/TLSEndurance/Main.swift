import Foundation
import MemoryTLS
import Purl
import PurlTLS
import PurlTesting

/// Flips every bit of the handshakes of TLS 1.2 and 1.3, one at a time, whole and resumed ones, of what either side sends; then
/// makes many TLS connections in memory, half of them with a bit flipped at some place of what the server sends, and looks for
/// what they leave: descriptors, memory, sessions.
///
///     TLSEndurance [CONNECTIONS] [SEED]
///
/// A flip ends in one error of the client's, which stays, or lengthens a record or a message for whose rest both sides wait, or
/// it changes nothing that counts: then both sides have finished the handshake and content passes. The last kind may be the
/// version in the head of a record that is not encrypted alone, which RFC 8446 §5.1 wants ignored.
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
        try main.flipAll(fewer: count < 10_000)
        try main.run(count)
    }

    private init(seed: UInt64) throws {
        provider = try SystemTLS.trusting(authority)
        random = SplitMix(state: seed)
    }

    /// - Parameter fewer: One bit of each byte, instead of all.
    private func flipAll(fewer: Bool) throws {
        var servers = 0
        let functions = try ServerFunctions.shared.get()
        let chain = try authority.issue(.valid(for: ["localhost"]))
        for version in [0x0303, 0x0304] as [UInt16] {
            let context = try functions.context(chain, versions: version...version)
            defer { functions.freeContext(context) }
            for isResumed in [false, true] {
                for sender in BitFlip.Sender.allCases {
                    var tally = FlipTally()
                    var position = 0
                    while true {
                        let bits = fewer ? position % 8..<position % 8 + 1 : 0..<8
                        for bit in bits {
                            // Another port is another server, whose session is not resumed.
                            servers += 1
                            let request = TLSConnectionRequest(host: "localhost", port: isResumed ? 0 : servers)
                            if isResumed { try connect(context, request) }
                            let pair = try MemoryPair(provider, serverContext: context, request)
                            let flip = BitFlip(sender, at: position, bit: bit)
                            do {
                                tally.add(try pair.outcome(of: flip))
                            } catch let violation as FlipViolation {
                                fail("TLS \(String(version, radix: 16)), \(flip): \(violation)")
                            }
                        }
                        if tally.missed > 0 { break }
                        position += 1
                    }
                    let title = "TLS 1.\(version - 0x0301)\(isResumed ? ", resumed" : "")"
                    print("\(title), \(position) bytes of the \(sender)'s: \(tally)")
                    guard tally.failed > position / 2 else { fail("errors are missing") }
                    for place in tally.places where ![1, 2].contains(place.offset) || place.type == 23 {
                        fail("\(place) could be changed")
                    }
                }
            }
        }
    }

    /// A connection from which the next one to the same server resumes.
    private func connect(_ context: OpaquePointer, _ request: TLSConnectionRequest) throws {
        let pair = try MemoryPair(provider, serverContext: context, request)
        _ = try pair.handshake()
        _ = try pair.read()
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

/// What became of the flips of one side's bytes.
private struct FlipTally: CustomStringConvertible {
    private(set) var failed = 0
    private(set) var missed = 0
    /// Where flips changed nothing that counts.
    private(set) var places: Set<RecordPlace> = []
    private var waiting = 0
    private var harmless = 0

    mutating func add(_ outcome: BitFlip.Outcome) {
        switch outcome {
        case .failed: failed += 1
        case .missed: missed += 1
        case .waiting: waiting += 1
        case .harmless(let place):
            harmless += 1
            places.insert(place)
        }
    }

    var description: String {
        let found = places.map(\.description).sorted().joined(separator: "; ")
        return "\(failed) errors, \(waiting) waits for the rest of a length, \(harmless) of no effect (\(found))"
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
