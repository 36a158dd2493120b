/// A short story about a session, which writes down what a user can see of it.
struct Scenario: Sendable {
    let name: String
    let play: @Sendable (Stage) async throws -> Void

    init(_ name: String, _ play: @escaping @Sendable (Stage) async throws -> Void) {
        self.name = name
        self.play = play
    }
}
