import Foundation

/// Programs as others write them, over Purl and over FoundationNetworking. `.ci/programs` runs each, and compares what the
/// two print.
///
///     ProgramsWithPurl            the names of the programs
///     ProgramsWithPurl NAME       one program: ends with a status other than 0 when it did not find what it expected
@main
enum Main {
    typealias Program = @Sendable () async throws -> String

    /// Those that FoundationNetworking has everything for.
    private static let common: KeyValuePairs<String, Program> = [
        "InterceptedClient": interceptedClient,
        "MockedLoading": mockedLoading,
        "GeneratedClient": generatedClient,
    ]

    #if PURL
        private static let others: KeyValuePairs<String, Program> = [
            "TaskLogger": taskLogger,
            "EventStreamReader": eventStreamReader,
            "SequenceUpload": sequenceUpload,
        ]
    #else
        private static let others: KeyValuePairs<String, Program> = [:]
    #endif

    static func main() async {
        let programs = Array(common) + Array(others)
        guard let name = CommandLine.arguments.dropFirst().first else {
            for (name, _) in programs { print(name) }
            return
        }
        guard let program = programs.first(where: { $0.key == name })?.value else {
            print("There is no program \(name).")
            exit(2)
        }
        do {
            print(try await program())
            exit(0)
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }
}

/// What a program expected and did not find.
struct Unexpected: Error, CustomStringConvertible {
    let description: String
}

/// Throws when the two differ.
func expect<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) throws {
    guard found != expected else { return }
    throw Unexpected(description: "\(what): expected \(expected), found \(found)")
}
