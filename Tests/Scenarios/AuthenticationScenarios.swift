import Foundation
import PurlTesting

/// Servers that want to know who asks.
enum AuthenticationScenarios {
    private static let digest =
        "Digest realm=\"vault\", nonce=\"n\", qop=\"auth\", algorithm=MD5, opaque=\"o\""

    static let all = [
        Scenario("authentication.credential") { stage in
            await stage.load(door(stage), Recorder(challenge: { _ in (.useCredential, me("secret")) }))
            stage.noteFields("Authorization")
        },
        Scenario("authentication.no-credential") { stage in
            await stage.load(door(stage), Recorder(challenge: { _ in (.useCredential, nil) }))
        },
        Scenario("authentication.default") { stage in await stage.load(door(stage)) },
        Scenario("authentication.cancel") { stage in
            await stage.load(door(stage), Recorder(challenge: { _ in (.cancelAuthenticationChallenge, nil) }))
        },
        Scenario("authentication.reject") { stage in
            await stage.load(door(stage), Recorder(challenge: { _ in (.rejectProtectionSpace, nil) }))
        },
        Scenario("authentication.wrong-then-right") { stage in
            let recorder = Recorder(challenge: { challenge in
                (.useCredential, me(challenge.previousFailureCount == 0 ? "wrong" : "secret"))
            })
            await stage.load(door(stage), recorder)
        },
        Scenario("authentication.wrong-then-give-up") { stage in
            let recorder = Recorder(challenge: { challenge in
                challenge.previousFailureCount < 2 ? (.useCredential, me("wrong")) : (.performDefaultHandling, nil)
            })
            await stage.load(door(stage), recorder)
        },
        Scenario("authentication.space") { stage in
            let recorder = Recorder(challenge: { challenge in
                let space = challenge.protectionSpace
                stage.note("host", space.host)
                stage.note("is the server's port", space.port == Int(stage.server.port))
                stage.note("protocol", space.protocol)
                stage.note("realm", space.realm)
                stage.note("method", space.authenticationMethod)
                stage.note("secure", space.receivesCredentialSecurely)
                stage.note("proposed", challenge.proposedCredential?.user)
                stage.note("status", (challenge.failureResponse as? HTTPURLResponse)?.statusCode)
                return (.performDefaultHandling, nil)
            })
            await stage.load(door(stage), recorder)
        },
        Scenario("authentication.user-in-url") { stage in
            _ = door(stage)
            let url = URL(string: "http://me:secret@127.0.0.1:\(stage.server.port)/door") ?? stage.server.url
            await stage.load(url)
            stage.noteFields("Authorization")
        },
        Scenario("authentication.handler") { stage in
            await LoadingScenarios.handled(stage, door(stage))
        },
        Scenario("authentication.default-credential") { stage in
            let storage = URLCredentialStorage()
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(stage.server.port), protocol: "http", realm: "vault",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            storage.setDefaultCredential(me("secret"), for: space)
            let recorder = Recorder()
            let session = stage.session(recorder) { $0.urlCredentialStorage = storage }
            await stage.load(URLRequest(url: door(stage)), recorder, in: session)
            stage.noteFields("Authorization")
        },
        Scenario("authentication.own-field") { stage in
            var request = URLRequest(url: door(stage))
            request.setValue("Basic bWU6c2VjcmV0", forHTTPHeaderField: "Authorization")
            await stage.load(request)
            stage.noteRequests()
        },
        Scenario("authentication.unknown-scheme") { stage in
            let url = stage.server.route("/door", .text("who?").status(401).field("WWW-Authenticate", "Odd a=b"))
            await stage.load(url)
        },
        Scenario("authentication.401-without-challenge") { stage in
            await stage.load(stage.server.route("/door", .text("who?").status(401)))
        },
        Scenario("authentication.digest") { stage in
            let url = stage.server.route(
                "/door",
                .computed { request in
                    request.fields["Authorization"]?.hasPrefix("Digest username=\"me\"") == true
                        ? .text("inside") : Reply.text("who?").status(401).field("WWW-Authenticate", digest)
                })
            await stage.load(url, Recorder(challenge: { _ in (.useCredential, me("secret")) }))
        },
        Scenario("authentication.remembered") { stage in
            let recorder = Recorder(challenge: { _ in (.useCredential, me("secret")) })
            let session = stage.session(recorder)
            for count in 1...2 {
                session.dataTask(with: door(stage)).resume()
                await recorder.completion(of: count)
            }
            stage.note("calls", recorder.calls.joined(separator: ", "))
        },
    ]

    private static func me(_ password: String) -> URLCredential {
        URLCredential(user: "me", password: password, persistence: .forSession)
    }

    /// A place that opens for me and my secret.
    private static func door(_ stage: Stage) -> URL {
        stage.server.route(
            "/door",
            .computed { request in
                request.fields["Authorization"] == "Basic bWU6c2VjcmV0"
                    ? .text("inside")
                    : Reply.text("who?").status(401).field("WWW-Authenticate", "Basic realm=\"vault\"")
            })
    }
}
