internal import Purl
import PurlTrace

extension Simulation {
    /// What has happened in a simulation.
    public struct Report: Sendable, Hashable, CustomStringConvertible {
        /// How many jobs have run.
        public let steps: Int
        /// How much simulated time has passed.
        public let duration: Duration
        /// What happened between computers, servers and disks, a line each with its time.
        public var lines: [String] { entries.map(\.line) }
        /// What happened within each process: the traces of its sessions, as text.
        public var transfers: [String] { recordings.map(\.text) }
        /// The numbers of the faults that have happened.
        public let faults: [Int]
        /// A script with which `purl serve` shows a failure to a real client, and which `PurlTesting` can load: what the server
        /// replied to each request. `nil` where nothing has failed, where the network, a disk or a kill had a part in it,
        /// where programs have asked several servers, and where scripts have no words for a reply.
        public let serverScript: String?
        private let entries: [Log.Entry]
        private let recordings: [SessionRecording]
        /// A number that follows from every choice of the scheduler: simulations with different ones went differently.
        public let digest: UInt64

        /// All of it as text.
        public var story: String { (lines + transfers).joined(separator: "\n") }

        /// A picture of it as an SVG document: a lane for each process and server, time downwards.
        public var picture: String { StoryPicture(entries).svg }

        /// How long it was, and what happened between computers, servers and disks.
        public var description: String {
            (["\(steps) steps in \(duration), \(faults.count) faults"] + lines).joined(separator: "\n")
        }

        init() {
            (steps, duration, faults, digest, entries, recordings) = (0, .zero, [], 0, [], [])
            serverScript = nil
        }

        /// - Parameter failure: Why the simulation has failed; `nil` where it has not.
        init(of world: World, digest: UInt64, _ failure: SimulationFailure.Reason?) {
            serverScript = failure.flatMap { world.serverScript(of: $0) }
            let scheduler = world.scheduler
            steps = scheduler.steps
            duration = scheduler.elapsed
            entries = world.log.entries
            faults = world.faults.happened
            recordings = scheduler.processes.flatMap { process in
                process.traces.compactMap { SessionRecording($0, of: process.name, hiding: world.log.places) }
            }
            self.digest = digest
        }
    }
}

/// What a session has recorded. It becomes text when the report is asked for it: most simulations pass, and their reports are not.
private struct SessionRecording: Sendable, Hashable {
    private let process: String
    private let recording: TransferTrace.Recording
    private let places: HiddenPlaces

    /// `nil` where nothing is recorded.
    init?(_ trace: TransferTrace, of process: String, hiding places: HiddenPlaces) {
        recording = trace.recording
        self.process = process
        self.places = places
        if recording.events.isEmpty { return nil }
    }

    var text: String { places.hidden(in: "\(process):\n\(TextTrace(recording).text)") }

    /// The folders in the recordings of two runs have different names.
    static func == (left: Self, right: Self) -> Bool { left.text == right.text }

    func hash(into hasher: inout Hasher) { hasher.combine(process) }
}
