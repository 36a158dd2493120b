import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Synchronization
import Testing

/// What a simulation leaves in the process that has run it: nothing.
@Suite(.serialized) struct LeakTests {
    private final class Witnesses: Sendable {
        private struct Weak: Sendable {
            weak var object: (any AnyObject & Sendable)?
        }

        private let objects = Mutex<[Weak]>([])
        /// The names of the simulated computers' home folders.
        let homes = Mutex<[String]>([])

        func watch(_ object: any AnyObject & Sendable) {
            objects.withLock { $0.append(Weak(object: object)) }
        }

        var living: [String] {
            objects.withLock { $0.compactMap { $0.object.map { "\(type(of: $0))" } } }
        }
    }

    private static let content = GeneratedContent(size: 20_000, seed: 3)

    private static func load(_ seed: Seed, _ surprises: Computer.Surprises, _ witnesses: Witnesses) throws {
        try Simulation(seed).run { world in
            let server = world.server("mirror.example")
            let url = server.route("/film", .generated(content).entityTag("\"v1\""))
            world.chaos = [.network, .disk]
            let laptop = world.computer("laptop")
            witnesses.watch(world)
            witnesses.watch(server)
            witnesses.watch(laptop)
            witnesses.homes.withLock { $0.append(laptop.home.lastPathComponent) }
            try await laptop.run("player", surprises: surprises) {
                let session = URLSession(configuration: .default)
                witnesses.watch(session)
                while true {
                    if let (file, _) = try? await session.download(from: url) {
                        #expect(try content.matches(fileAt: file))
                        break
                    }
                    try await world.sleep(for: .seconds(1))
                }
                session.finishTasksAndInvalidate()
            }
        }
    }

    @Test func objectsAreReleased() throws {
        let witnesses = Witnesses()
        for seed in Seeds.some(20) { try Self.load(seed, .none, witnesses) }
        // A process that ends takes no step more: a task that was about to be resumed keeps its session.
        let living = witnesses.living.filter { $0 == "World" || $0 == "Server" }
        #expect(living.isEmpty)
    }

    /// The tasks of a process that was killed never run again, and keep what they have; but the kernel closes its files.
    @Test func theFilesOfKilledProcessesAreClosed() throws {
        let witnesses = Witnesses()
        for seed in Seeds.some(20) { try Self.load(seed, .init(kills: 2, powerLosses: 1), witnesses) }
        #expect(try Self.openFiles(in: witnesses.homes.withLock { $0 }) == [])
    }

    /// The files of simulated computers that are open in this process, in which other tests simulate others.
    private static func openFiles(in homes: [String]) throws -> [String] {
        let folder = "/proc/self/fd"
        return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
            return target.flatMap { target in homes.contains { target.contains($0) } ? target : nil }
        }
    }
}
