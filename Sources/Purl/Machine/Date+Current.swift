import Foundation
internal import PurlIO

extension Date {
    /// The current date, which is a simulation's on its thread.
    package static var current: Date {
        Simulated.machine.map { Date(timeIntervalSince1970: $0.secondsSince1970) } ?? Date()
    }
}
