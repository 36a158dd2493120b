import Foundation

/// What has to be true of a session that speaks to httpbin. One line for each check.
struct HTTPBinChecks: Sendable {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Check: Sendable {
        let title: String
        let run: @Sendable (HTTPBin) async throws -> Void

        init(_ title: String, _ run: @escaping @Sendable (HTTPBin) async throws -> Void) {
            self.title = title
            self.run = run
        }
    }

    static let all =
        HTTPBinRedirects.all + HTTPBinAuthentication.all + HTTPBinCookies.all + HTTPBinBodies.all + HTTPBinContents.all
        + HTTPBinCaching.all + HTTPBinTimes.all

    /// Runs all checks and says how many failed.
    static func run(at url: URL) async -> Bool {
        var failures = 0
        for check in all {
            do {
                // A session of its own: nothing is left of the check before.
                try await check.run(HTTPBin(url: url))
                print("ok - httpbin: \(check.title)")
            } catch {
                failures += 1
                print("FAILED - httpbin: \(check.title): \(error)")
            }
        }
        return failures == 0
    }
}

/// Throws with both values unless they are equal.
func expect<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) throws {
    guard found != expected else { return }
    throw HTTPBinChecks.Failure(description: "\(what) is \(found) instead of \(expected)")
}

/// Throws unless the condition holds.
func expect(_ what: String, _ condition: Bool) throws {
    guard !condition else { return }
    throw HTTPBinChecks.Failure(description: "not so: \(what)")
}

/// Throws unless this fails with the code.
func expectFailure(_ code: URLError.Code, _ load: () async throws -> Void) async throws {
    do {
        try await load()
    } catch {
        return try expect("error", (error as? URLError)?.code, code)
    }
    throw HTTPBinChecks.Failure(description: "it did not fail with \(code.rawValue)")
}
