import Foundation
import PurlSimulation
import PurlTesting
import Synchronization

/// The letters that wait, on the side of the server.
final class WaitingLetters: Sendable {
    private let letters: Mutex<[Letter]>

    init(_ texts: [String]) {
        letters = Mutex(zip(1..., texts).map { Letter(number: $0, text: $1) })
    }

    /// Opens a post office, and returns the URL of its letters.
    func open(at server: Server) -> URL {
        for number in letters.withLock({ $0.map(\.number) }) {
            server.route(
                "/letters/\(number)", method: "DELETE",
                .computed { _ in
                    self.letters.withLock { $0.removeAll { $0.number == number } }
                    return .status(204)
                })
        }
        return server.route(
            "/letters",
            .computed { _ in
                guard let first = self.letters.withLock({ $0.first }) else { return .status(204) }
                return .bytes(try JSONEncoder().encode(first)).field("Cache-Control", "no-store")
            })
    }
}

/// What must not be in the letter box in the end.
struct WrongLetters: Error, CustomStringConvertible {
    let letters: [String]
    var description: String { "the letter box has \(letters)" }
}

/// Two letters, a program, and bad luck of these kinds. The seed decides when it strikes.
func collectLetters(
    _ seed: Seed, _ chaos: World.Chaos, _ postman: @escaping Postman
) throws(SimulationFailure) {
    try Simulation(seed).run { world in
        let texts = ["Dear Ada", "Dear Grace"]
        let office = PostOffice(letters: WaitingLetters(texts).open(at: world.server("post.example")))
        world.chaos = chaos
        let laptop = world.computer("laptop")
        let box = LetterBox(folder: laptop.home)
        try await laptop.run("postman") {
            while true {
                do {
                    return try await postman(office, box)
                } catch is URLError {
                    try await world.sleep(for: .seconds(10))
                }
            }
        }
        guard box.letters == texts else { throw WrongLetters(letters: box.letters) }
    }
}

/// The first of the seeds with which something goes wrong, with its shortest story; `nil` where there is none.
func firstFailure(
    _ seeds: ClosedRange<UInt64>, _ chaos: World.Chaos, of postman: @escaping Postman
) -> SimulationFailure? {
    for seed in seeds {
        do throws(SimulationFailure) {
            try collectLetters(Seed(seed), chaos, postman)
        } catch {
            return error
        }
    }
    return nil
}
