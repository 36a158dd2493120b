import Faults
import Foundation
import Purl
import PurlSimulation
import PurlTesting
import Testing

@testable import SessionFixtures

/// The default is the process's, so that each test has a process of its own.
@Suite("The default TLS provider", .timeLimit(.minutes(5)))
struct DefaultProviderTests {
    /// How a program comes by a session without setting a provider in its configuration.
    enum Origin: String, CaseIterable, Codable, Sendable {
        case shared, `default`, ephemeral, background, copy

        /// - Parameter folder: Where a background session keeps its tasks.
        func session(in folder: URL) -> URLSession {
            self == .shared ? .shared : URLSession(configuration: configuration(in: folder))
        }

        private func configuration(in folder: URL) -> URLSessionConfiguration {
            switch self {
            case .shared, .default: return .default
            case .ephemeral: return .ephemeral
            case .background:
                let configuration = URLSessionConfiguration.background(withIdentifier: "default-provider")
                configuration.backgroundSessionsDirectory = folder
                return configuration
            case .copy:
                let original = URLSessionConfiguration.ephemeral
                return original.copy() as? URLSessionConfiguration ?? original
            }
        }
    }

    @Test("https is loaded by every session without a provider of its own", arguments: Origin.allCases)
    func sessionsMadeLater(origin: Origin) async {
        await #expect(processExitsWith: .success) { [origin = origin as Origin] in
            let stage = try await SecureStage()
            let url = stage.route("/file", .text("hello"))
            URLSessionConfiguration.defaultTLSProvider = stage.provider
            let session = origin.session(in: stage.sandbox.folder)
            #expect(try await session.data(from: url).0 == Data("hello".utf8))
            #expect(session.configuration.tlsProvider as? FakeProvider === stage.provider)
            #expect(stage.provider.requests.count == 1)
        }
    }

    @Test("A session that has failed for want of a provider uses the one set afterwards", arguments: Origin.allCases)
    func sessionsMadeEarlier(origin: Origin) async {
        await #expect(processExitsWith: .success) { [origin = origin as Origin] in
            let stage = try await SecureStage()
            let url = stage.route("/file", .text("hello"))
            let session = origin.session(in: stage.sandbox.folder)
            let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
            #expect(error?.code == .unsupportedURL)
            #expect(session.configuration.tlsProvider == nil)
            URLSessionConfiguration.defaultTLSProvider = stage.provider
            #expect(try await session.data(from: url).0 == Data("hello".utf8))
            #expect(stage.server.requests.count == 1)
        }
    }

    @Test("A configuration whose provider was set does not follow the default, nor do its copies and sessions")
    func ownProvider() async {
        await #expect(processExitsWith: .success) {
            let stage = try await SecureStage()
            let url = stage.route("/file", .text("hello"))
            let own = URLSessionConfiguration.ephemeral
            own.tlsProvider = stage.provider
            let unset = URLSessionConfiguration.ephemeral
            unset.tlsProvider = nil
            let replaced = FakeProvider()
            URLSessionConfiguration.defaultTLSProvider = replaced
            for configuration in [own, try #require(own.copy() as? URLSessionConfiguration)] {
                #expect(configuration.tlsProvider as? FakeProvider === stage.provider)
                let session = URLSession(configuration: configuration)
                #expect(try await session.data(from: url).0 == Data("hello".utf8))
                #expect(session.configuration.tlsProvider as? FakeProvider === stage.provider)
            }
            for configuration in [unset, try #require(unset.copy() as? URLSessionConfiguration)] {
                #expect(configuration.tlsProvider == nil)
                let session = URLSession(configuration: configuration)
                let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
                #expect(error?.code == .unsupportedURL)
            }
            #expect(replaced.requests == [])
            #expect(stage.provider.requests.count == 2)
            #expect(stage.server.requests.count == 2)
        }
    }

    @Test(
        "A provider that replaces another makes new connections, while a transfer that has begun finishes over its own")
    func replacement() async {
        await #expect(processExitsWith: .success) {
            let stage = try await SecureStage()
            let gate = ServerGate()
            let slow = stage.route("/slow", .generated(size: 300_000).stalled(afterBytes: 100_000, until: gate))
            let url = stage.route("/file", .text("hello"))
            let session = stage.sandbox.session()
            URLSessionConfiguration.defaultTLSProvider = stage.provider
            #expect(try await session.data(from: url).0 == Data("hello".utf8))
            async let content = session.data(from: slow).0
            await gate.reached()

            let next = FakeProvider()
            URLSessionConfiguration.defaultTLSProvider = next
            for _ in 0..<3 { #expect(try await session.data(from: url).0 == Data("hello".utf8)) }
            gate.open()
            #expect(try await content.count == 300_000)
            #expect(try await session.data(from: url).0 == Data("hello".utf8))
            #expect(stage.provider.requests.count == 1)
            #expect(next.requests.count == 1)
            #expect(stage.gate.seen.hellos.count == 2)
        }
    }

    @Test("A request that waits while the provider is taken away fails, and is not sent in the open")
    func removal() async {
        await #expect(processExitsWith: .success) {
            let stage = try await SecureStage()
            let gate = ServerGate()
            let witness = Witness()
            let first = stage.route("/first", .text("hello").delayed(until: gate))
            let second = stage.route("/second", .text("hello"))
            let session = stage.sandbox.session(witness) { $0.httpMaximumConnectionsPerHost = 1 }
            URLSessionConfiguration.defaultTLSProvider = stage.provider
            session.dataTask(with: first).resume()
            await gate.reached()
            let waiting = session.dataTask(with: second).resumed()
            await NetworkThread.settle()
            waiting.suspend()
            await NetworkThread.settle()
            URLSessionConfiguration.defaultTLSProvider = nil
            gate.open()
            await witness.completion(of: 1)
            waiting.resume()
            await witness.completion(of: 2)
            #expect(witness.error(of: waiting)?.code == .unsupportedURL)
            #expect(stage.server.requests.map(\.path) == ["/first"])
            #expect(stage.server.acceptedConnections == 1)
        }
    }

    @Test("Many threads may set and read it while requests are sent")
    func manyThreads() async {
        await #expect(processExitsWith: .success) {
            let stage = try await SecureStage()
            let url = stage.route("/file", .text("hello"))
            let session = stage.sandbox.session()
            URLSessionConfiguration.defaultTLSProvider = stage.provider
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<50 {
                            URLSessionConfiguration.defaultTLSProvider = FakeProvider()
                            #expect(URLSessionConfiguration.default.tlsProvider != nil)
                        }
                    }
                    group.addTask {
                        for _ in 0..<20 {
                            let content = try await session.data(from: url).0
                            #expect(content == Data("hello".utf8))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Without a provider the reason names the product to add and the line to write", arguments: LoadForm.allCases)
    func reason(form: LoadForm) async throws {
        let url = try #require(URL(string: "https://127.0.0.1/file"))
        let outcome = try await form.load(url)
        outcome.expectFailure(.unsupportedURL, at: url)
        #expect(outcome.sentence.contains("product PurlTLS"))
        #expect(outcome.sentence.contains("URLSessionConfiguration.defaultTLSProvider = SystemTLS()"))
    }
}
