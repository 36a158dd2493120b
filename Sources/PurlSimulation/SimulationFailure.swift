internal import Foundation

/// Why a simulation has failed, and what happened until then.
public struct SimulationFailure: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public enum Reason: Sendable, CustomStringConvertible {
        /// The program has thrown an error.
        case thrown(any Error)
        /// Nothing can run and nothing is due, but the program, or a task that it has resumed, has not ended: who waits for what.
        case stuck([String])
        /// The program has done what cannot be simulated.
        case refused(String)
        /// A transfer has broken what holds for all of them; see <doc:Simulating>.
        case broken([String])
        /// The program blocks the thread of the simulation, which is left to itself.
        case blocked(String)
        /// The program has passed one of the ``Simulation/Limits-swift.struct``.
        case tooLong(String)

        /// What went wrong, in words.
        public var description: String {
            switch self {
            case .thrown(let error): "the program has thrown \(Self.words(for: error))"
            case .stuck(let waiting):
                ([
                    """
                    the program waits for what never happens; Task.sleep, Task.yield, the main actor and an actor that another \
                    simulation uses at the same time are such
                    """
                ] + waiting.map { "  " + $0 }).joined(separator: "\n")
            case .broken(let rules):
                (["a rule is broken"] + rules.map { "  " + $0 }).joined(separator: "\n")
            case .refused(let reason): "this cannot be simulated: \(reason)"
            case .blocked(let what): "the program blocks its thread: \(what)"
            case .tooLong(let what): "the program does not end: \(what)"
            }
        }

        /// An error of Foundation's would name what it holds in another order in each process.
        private static func words(for error: any Error) -> String {
            guard let error = error as? URLError else { return "\(error)" }
            let url = error.failingURL.map { " at \($0.absoluteString)" } ?? ""
            let reason = error.userInfo[NSLocalizedFailureReasonErrorKey] as? String
            return "URLError \(error.code.rawValue)\(url): \(reason ?? error.localizedDescription)"
        }
    }

    /// The seed that replays it.
    public let seed: Seed
    /// What went wrong.
    public let reason: Reason
    /// The faults that it would have had, but for ``Simulation/leftOutFaults``.
    public let leftOutFaults: [Int]
    /// What happened until then.
    public let report: Simulation.Report

    /// The numbers of the faults that have led to it.
    public var faults: [Int] { report.faults }

    /// The seed, the reason, a script for `purl serve` where there is one, and the story.
    public var description: String {
        let script = report.serverScript.map {
            "To show it to a real client, serve this script with purl serve:\n\($0)"
        }
        let omission = leftOutFaults.isEmpty ? "" : ", without the faults \(leftOutFaults)"
        return """
            Seed \(seed), step \(report.steps), after \(report.duration): \(reason)
            Replay it with SEED=\(seed) in the environment\(omission).
            \(script ?? "")\(report.story)
            """
    }
}
