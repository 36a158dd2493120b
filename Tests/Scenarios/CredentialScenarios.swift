import Foundation

/// Credentials and where they are kept.
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
