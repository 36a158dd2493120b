import Foundation
internal import PurlIO

/// Calls that are made one at a time, in their order, on a queue of Dispatch's; in a simulation, on its thread.
package final class SerialCalls: Sendable {
    private enum Queue {
        case dispatch(DispatchQueue)
        case simulated(any SimulatedCallQueue)
    }

    private let queue: Queue

    /// - Parameter label: The queue's name, for a debugger.
    package init(_ label: String) {
        queue = Simulated.machine.map { .simulated($0.makeCallQueue()) } ?? .dispatch(DispatchQueue(label: label))
    }

    /// Adds a call after all earlier ones. From any thread.
    package func async(_ call: @escaping @Sendable () -> Void) {
        switch queue {
        case .dispatch(let queue): queue.async(execute: call)
        case .simulated(let queue): queue.add(call)
        }
    }
}
