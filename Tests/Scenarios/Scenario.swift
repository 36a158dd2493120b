import PurlSimulation

/// A program in a world of bad luck, and what has to hold of it with every seed.
public struct Scenario: Sendable, CustomStringConvertible {
    /// What it is called on command lines and in failures: `paused-download`.
    public let name: String
    private let body: @Sendable (World) async throws -> Void

    init(_ name: String, _ body: @escaping @Sendable (World) async throws -> Void) {
        self.name = name
        self.body = body
    }

    /// The name.
    public var description: String { name }

    /// All of them.
    public static let all: [Scenario] = [
        pausedDownload, relaunchedDownload, interruptedSession, managedDownloads, severalConnections, patientManager,
        resumedUpload, relaunchedUpload, appendedFile, sharedFile, cachedPages, sharedConnections, slowReader,
        webSocketConversation, streamConversation, invalidatedSession, redirectsAndCredentials, replacedDownload,
        cancelledCalls, joiningCallers, mirroredDownload, becomingTasks, pausedConnections, restartedServer,
    ]

    /// The scenario of a name; `nil` where there is none.
    public static func named(_ name: String) -> Scenario? { all.first { $0.name == name } }

    /// Runs it with one seed.
    ///
    /// - Throws: ``PurlSimulation/SimulationFailure`` where something does not hold.
    @discardableResult
    public func run(_ seed: Seed, leavingOut faults: Set<Int> = []) throws(SimulationFailure) -> Simulation.Report {
        var simulation = Simulation(seed)
        simulation.leftOutFaults = faults
        return try simulation.run(body)
    }

    /// The failure with the fewest faults; `nil` where all holds.
    public func shortestFailure(_ seed: Seed) -> SimulationFailure? {
        Simulation(seed).shortestFailure(body)
    }
}

/// What a scenario found not to hold.
struct Unmet: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func require(_ condition: Bool, _ words: @autoclosure () -> String) throws {
    if !condition { throw Unmet(words()) }
}
