import Foundation

/// The same code over Purl and over FoundationNetworking: what it prints is compared by `.ci/differential`.
///
///     ScenariosWithPurl                     the names of all scenarios
///     ScenariosWithPurl NAME                one scenario
///     ScenariosWithPurl httpbin URL         checks against the httpbin at this address
@main
enum Main {
    static let scenarios =
        LoadingScenarios.all + HeaderScenarios.all + RedirectScenarios.all + UploadScenarios.all
        + DownloadScenarios.all + CookieScenarios.all + AuthenticationScenarios.all + FailureScenarios.all
        + RequestScenarios.all + ResponseScenarios.all + TaskScenarios.all + CredentialScenarios.all
        + CacheScenarios.all + StorageScenarios.all + ProtocolScenarios.all + PlaceScenarios.all
        + RawValueScenarios.all + WebSocketScenarios.all + DelegateScenarios.all

    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard let name = words.first else {
            for scenario in scenarios { print(scenario.name) }
            return
        }
        if name == "httpbin", let address = words.last, let url = URL(string: address) {
            exit(await HTTPBinChecks.run(at: url) ? 0 : 1)
        }
        guard let scenario = scenarios.first(where: { $0.name == name }) else {
            print("There is no scenario \(name).")
            exit(2)
        }
        do {
            let stage = try Stage()
            try await scenario.play(stage)
            exit(0)
        } catch {
            print("threw: \(error)")
            exit(1)
        }
    }
}

/// A use of a session that prints what its caller can observe.
struct Scenario: Sendable {
    let name: String
    let play: @Sendable (Stage) async throws -> Void

    init(_ name: String, _ play: @escaping @Sendable (Stage) async throws -> Void) {
        self.name = name
        self.play = play
    }
}
