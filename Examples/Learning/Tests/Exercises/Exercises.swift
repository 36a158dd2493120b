import Foundation
import Purl
import PurlTesting

/// Whose classes the tests of the exercises look at.
///
/// `EXERCISES=mine swift test --filter Exercise` tests the files in `Exercises`, which are to be completed. Without it
/// the solutions are tested.
enum Exercises {
    static let areMine = ProcessInfo.processInfo.environment["EXERCISES"] == "mine"

    /// A configuration whose sessions reach a server in memory, whatever host their requests name.
    static func configuration(for server: LoopbackServer) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        configuration.connector = server.connector
        return configuration
    }
}
