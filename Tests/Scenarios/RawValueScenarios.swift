import Foundation

/// The numbers of enumerations, which programs keep.
enum RawValueScenarios {
    static let all = [
        Scenario("raw.request") { stage in
            note(stage, URLRequest.CachePolicy.self)
            note(stage, URLRequest.NetworkServiceType.self)
        },
        Scenario("raw.session") { stage in
            note(stage, URLSession.AuthChallengeDisposition.self)
            note(stage, URLSession.ResponseDisposition.self)
            note(stage, URLSessionTask.State.self)
            stage.note("low", URLSessionTask.lowPriority)
            stage.note("default", URLSessionTask.defaultPriority)
            stage.note("high", URLSessionTask.highPriority)
        },
        Scenario("raw.storage") { stage in
            note(stage, URLCache.StoragePolicy.self)
            note(stage, URLCredential.Persistence.self)
            note(stage, HTTPCookie.AcceptPolicy.self)
        },
        Scenario("raw.metrics") { stage in
            note(stage, URLSessionTaskMetrics.ResourceFetchType.self)
            note(stage, URLSessionTaskMetrics.DomainResolutionProtocol.self)
        },
    ]

    private static func note<Value: RawRepresentable>(_ stage: Stage, _ type: Value.Type)
    where Value.RawValue: BinaryInteger {
        for number in 0..<20 {
            guard let value = Value(rawValue: Value.RawValue(number)) else { continue }
            stage.note("\(type) \(number)", value)
        }
    }
}
