internal import Foundation
internal import Purl
internal import PurlIO
internal import PurlTesting

/// What can be wrong with the places that a task is sent to.
extension Fault {
    // MARK: Redirects

    static let redirects: [Fault] =
        [
            Fault("redirect", "to itself", .redirect(to: path), .failure(.httpTooManyRedirects)),
            Fault("redirect", "in a circle", .failure(.httpTooManyRedirects)) { stage in
                stage.answer(.redirect(to: "/other"))
                stage.answer(.redirect(301, to: path), at: "/other")
            },
            Fault("redirect", "to itself, with the body", .redirect(307, to: path), .failure(.httpTooManyRedirects)),
            Fault("redirect", "to itself, ever longer", .failure(.httpTooManyRedirects, at: ever(20))) { stage in
                stage.server.fallback(.computed { .redirect(to: $0.path + "x") })
                stage.answer(.redirect(to: "/x"))
            },
            Fault("redirect", "to a line break in code", .text("", status: 404)) { stage in
                stage.answer(.redirect(to: "/x%0d%0aX-Evil:%201%0d%0a"))
            }.expecting {
                $0.isResumed ? .failure(.badServerResponse, at: "/x%0d%0aX-Evil:%201%0d%0a") : .text("", status: 404)
            },
            Fault("redirect", "with a line break", .redirect(to: "/x\u{1}y"), .failure(.badServerResponse))
                .with {
                    $0.prepare = {
                        $0.answer(.raw("HTTP/1.1 302 Found\r\nLocation: /x\rX-Evil: 1\r\n\r\n", then: .keepOpen))
                    }
                },
            Fault(
                "redirect", "long, to nowhere", .redirect(to: "").chunked(), .failure(.redirectToNonExistentLocation)),
            Fault("redirect", "cut off in its body", .failure(.badServerResponse)) { stage in
                stage.answer(.generated(size: 9000).status(302).field("Location", "/good").cut(afterBytes: 100))
                stage.answer(stage.resource, at: "/good")
            }.expecting { _ in .success() },
        ]
        + [
            ("", URLError.Code.redirectToNonExistentLocation), ("http://", .redirectToNonExistentLocation),
            ("http:///x", .redirectToNonExistentLocation),
        ].map { location, code in
            Fault("redirect", "to “\(location)”", .redirect(to: location), .failure(code))
        }
        + [
            "file:///etc/passwd", "https://host.test/x", "ftp://host.test/x", "javascript:alert(1)",
            "data:text/plain,evil", "about:blank", "mailto:x@host.test", "gopher://host.test/x",
            "http+unix://%2Fvar%2Frun%2Fx.sock/x", "ws://host.test/x",
        ].map { location in
            Fault(
                "redirect", "to “\(location)”", .redirect(to: location), .failure(.unsupportedURL, at: location)
            )
            // Who can speak https follows there, as every program of a simulation can.
            .with {
                $0.needsOpenness = location.hasPrefix("https:")
                $0.needsSockets = location.hasPrefix("https:")
            }
        }

    private static let path = Stage.path

    private static func ever(_ count: Int) -> String { "/" + String(repeating: "x", count: count) }

    // MARK: Names and addresses

    static let names: [Fault] = [
        name("that does not exist", .failure(.cannotFindHost)) { host, answer in
            answer(.failure(.noSuchName(host: host)))
        }.passing,
        name("without an address", .failure(.cannotFindHost)) { _, answer in answer(.success([])) }.passing,
        name("that cannot be asked for", .failure(.dnsLookupFailed)) { host, answer in
            answer(.failure(.failed(host: host, code: EAI_AGAIN, reason: "try again")))
        }.passing,
        name("without an answer", .failure(.timedOut)) { _, _ in }
            .configured { configuration, stage in
                // A look-up has half a minute of the simulation's clock, which no manual one turns.
                if stage.isSimulated { configuration.timeoutIntervalForRequest = 20 }
            }.timed,
        named("that is answered for late", .success()) { stage in
            let address = SocketAddress.loopback(port: stage.server.port)
            stage.names.answer { _, answer in
                Task { answer(.success([address])) }
            }
        },
        named("with dead addresses only", .failure(.cannotConnectToHost)) { stage in
            let dead = stage.deadAddresses
            stage.names.answer { _, answer in answer(.success(dead)) }
        }.passing,
        named("with dead addresses first", .success()) { stage in
            let addresses = stage.deadAddresses + [.loopback(port: stage.server.port)]
            stage.names.answer { _, answer in answer(.success(addresses)) }
        },
        named("with a thousand dead addresses", .failure(.cannotConnectToHost)) { stage in
            let dead = (0..<1000).map { stage.deadAddresses[$0 % 2] }
            stage.names.answer { _, answer in answer(.success(dead)) }
        }.passing,
        Fault("address", "that refuses connections", .failure(.cannotConnectToHost)) { $0.refuse() }
            .with { $0.checksSession = false }.passing,
        Fault("address", "that refuses connections, and the user waits", .failure(.timedOut)) { $0.refuse() }
            .configured { configuration, _ in
                configuration.waitsForConnectivity = true
                configuration.timeoutIntervalForResource = 120
            }
            .timed.with { $0.checksSession = false },
    ].map { $0.withStreams() }

    private static func name(
        _ name: String, _ expectation: Expectation,
        answer: @escaping @Sendable (String, @escaping ScriptedNames.Answer) -> Void
    ) -> Fault {
        named(name, expectation) { $0.names.answer(by: answer) }
    }

    private static func named(
        _ name: String, _ expectation: Expectation, prepare: @escaping @Sendable (Stage) -> Void
    ) -> Fault {
        Fault("name", name, expectation) { stage in
            stage.answer(stage.resource)
            prepare(stage)
        }.with {
            $0.url = { $0.url(path, on: Stage.hostName) }
        }
    }

    // MARK: Proxies

    static let proxies: [Fault] = [
        Fault("proxy", "that cannot be reached", .failure(.cannotConnectToHost)).configured { configuration, _ in
            configuration.connectionProxyDictionary = proxy("127.0.0.1", port: 1)
        }.with { $0.checksSession = false }.withStreams().passing,
        Fault("proxy", "that means nothing", .failure(.cannotConnectToHost)).configured { configuration, _ in
            configuration.connectionProxyDictionary = proxy("", port: -1)
        }.with { $0.checksSession = false }.withStreams(),
        Fault("proxy", "that wants to know who asks, for ever", .text("", status: 407)) { stage in
            stage.server.fallback(.status(407).field("Proxy-Authenticate", "Basic realm=\"proxy\""))
            stage.answer(.status(407).field("Proxy-Authenticate", "Basic realm=\"proxy\""))
        }.expecting { $0.isResumed ? .failure(.badServerResponse) : .text("", status: 407) }
            .configured { configuration, stage in
                configuration.connectionProxyDictionary = proxy("127.0.0.1", port: Int(stage.server.port))
            }
            // A tunnel's proxy is no server: its response ends the task.
            .with { $0.needsOpenness = true },
    ]

    private static func proxy(_ host: String, port: Int) -> [AnyHashable: Any] {
        [
            "HTTPEnable": 1, "HTTPProxy": host, "HTTPPort": port,
            "HTTPSEnable": 1, "HTTPSProxy": host, "HTTPSPort": port,
        ]
    }
}

extension Stage {
    /// Addresses of this machine on which the server does not listen.
    fileprivate var deadAddresses: [SocketAddress] {
        ["127.0.0.2", "127.0.0.3"].compactMap { SocketAddress(literal: $0, port: server.port) }
    }
}
