import Foundation
import PurlTesting

/// Servers and proxies that ask for a user and a password.
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
        Scenario("authentication.after-redirect") { stage in
            _ = door(stage)
            let url = stage.server.route("/old-door", .redirect(302, to: "/door"))
            await stage.load(url, Recorder(challenge: { _ in (.useCredential, me("secret")) }))
            stage.noteRequests()
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
        Scenario("authentication.no-realm") { stage in
            let recorder = Recorder(challenge: { challenge in
                stage.note("realm", challenge.protectionSpace.realm)
                return (.useCredential, me("secret"))
            })
            let url = stage.server.route(
                "/door",
                .computed { request in
                    if request.fields["Authorization"] != nil { return .text("inside") }
                    return .text("who?").status(401).field("WWW-Authenticate", "Basic")
                })
            await stage.load(url, recorder)
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

    /// A route that needs the user `me` and its password.
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

/// Credentials and their storage.
enum CredentialScenarios {
    static let all = [
        Scenario("credential.values") { stage in
            let credential = URLCredential(user: "me", password: "secret", persistence: .permanent)
            stage.note("user", credential.user)
            stage.note("password", credential.password)
            stage.note("has password", credential.hasPassword)
            stage.note("persistence", credential.persistence.rawValue)
        },
        Scenario("credential.equality") { stage in
            let make = { (user: String, persistence: URLCredential.Persistence) in
                URLCredential(user: user, password: "p", persistence: persistence)
            }
            stage.note("same", make("a", .none) == make("a", .none))
            stage.note("other user", make("a", .none) == make("b", .none))
            stage.note("other persistence", make("a", .none) == make("a", .forSession))
        },
        Scenario("credential.spaces") { stage in
            stage.note("same", space("r") == space("r"))
            stage.note("other realm", space("r") == space("s"))
            stage.note("method", space("r", method: nil).authenticationMethod)
            stage.note("secure", space("r").receivesCredentialSecurely)
            stage.note(
                "digest is secure", space("r", method: NSURLAuthenticationMethodHTTPDigest).receivesCredentialSecurely)
            stage.note("proxy", space("r").isProxy())
            let proxy = URLProtectionSpace(
                proxyHost: "p", port: 1, type: NSURLProtectionSpaceHTTPProxy, realm: nil, authenticationMethod: nil)
            stage.note("proxy", proxy.isProxy())
            stage.note("proxy type", proxy.proxyType)
            stage.note("proxy protocol", proxy.protocol)
        },
        Scenario("credential.storage") { stage in
            let storage = URLCredentialStorage()
            let me = URLCredential(user: "me", password: "1", persistence: .forSession)
            let you = URLCredential(user: "you", password: "2", persistence: .forSession)
            stage.note("empty", storage.credentials(for: space("r"))?.count)
            storage.set(me, for: space("r"))
            storage.setDefaultCredential(you, for: space("r"))
            stage.note("users", storage.credentials(for: space("r"))?.keys.sorted())
            stage.note("default", storage.defaultCredential(for: space("r"))?.user)
            stage.note("other realm", storage.defaultCredential(for: space("s"))?.user)
            storage.remove(you, for: space("r"))
            stage.note("users", storage.credentials(for: space("r"))?.keys.sorted())
            stage.note("default", storage.defaultCredential(for: space("r"))?.user)
            stage.note("spaces", storage.allCredentials.count)
        },
        Scenario("credential.storage-persistence") { stage in
            let storage = URLCredentialStorage()
            storage.set(URLCredential(user: "me", password: "1", persistence: .none), for: space("r"))
            stage.note("none", storage.credentials(for: space("r"))?.count)
        },
        Scenario("credential.storage-replaces") { stage in
            let storage = URLCredentialStorage()
            for password in ["1", "2"] {
                storage.set(URLCredential(user: "me", password: password, persistence: .forSession), for: space("r"))
            }
            stage.note("password", storage.credentials(for: space("r"))?["me"]?.password)
        },
        Scenario("credential.descriptions") { stage in
            stage.noteDescription(space("r"))
            stage.noteDescription(
                URLProtectionSpace(
                    host: "EXAMPLE.com", port: 80, protocol: nil, realm: nil,
                    authenticationMethod: NSURLAuthenticationMethodHTTPDigest))
            stage.note(
                "host",
                URLProtectionSpace(
                    host: "EXAMPLE.com", port: 80, protocol: nil, realm: nil, authenticationMethod: nil
                ).host)
            stage.noteDescription(URLCredential(user: "me", password: "1", persistence: .none))
        },
        Scenario("credential.constants") { stage in
            stage.note("basic", NSURLAuthenticationMethodHTTPBasic)
            stage.note("digest", NSURLAuthenticationMethodHTTPDigest)
            stage.note("default", NSURLAuthenticationMethodDefault)
            stage.note("http", NSURLProtectionSpaceHTTP)
            stage.note("proxy", NSURLProtectionSpaceHTTPProxy)
        },
    ]

    private static func space(_ realm: String, method: String? = NSURLAuthenticationMethodHTTPBasic)
        -> URLProtectionSpace
    {
        URLProtectionSpace(host: "h", port: 80, protocol: "http", realm: realm, authenticationMethod: method)
    }
}
