import Foundation

enum HTTPBinAuthentication {
    static let all =
        [
            HTTPBinChecks.Check("/basic-auth with the user of the URL") { bin in
                let answer = try await bin.get("/basic-auth/me/secret", user: "me")
                try expect("status", answer.status, 200)
                try expect("user", answer.told("user"), "me")
            },
            HTTPBinChecks.Check("/basic-auth with a delegate's credential") { bin in
                try expect("status", try await answered(bin, "/basic-auth/me/secret", "secret"), 200)
            },
            HTTPBinChecks.Check("/basic-auth with the wrong password, then none") { bin in
                try expect("status", try await answered(bin, "/basic-auth/me/secret", "wrong"), 401)
            },
            HTTPBinChecks.Check("/basic-auth with a storage's credential") { bin in
                let storage = URLCredentialStorage()
                let space = URLProtectionSpace(
                    host: bin.url.host ?? "", port: bin.url.port ?? 80, protocol: "http", realm: "Fake Realm",
                    authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
                storage.setDefaultCredential(
                    URLCredential(user: "me", password: "secret", persistence: .forSession), for: space)
                let other = bin.changed { $0.urlCredentialStorage = storage }
                try expect("status", try await other.get("/basic-auth/me/secret").status, 200)
            },
            HTTPBinChecks.Check("/basic-auth without anything is the 401") { bin in
                try expect("status", try await bin.get("/basic-auth/me/secret").status, 401)
            },
            HTTPBinChecks.Check("/hidden-basic-auth does not ask, and is a 404") { bin in
                let delegate = Recorder(challenge: { _ in
                    (.useCredential, URLCredential(user: "me", password: "secret", persistence: .forSession))
                })
                let request = try bin.request("/hidden-basic-auth/me/secret")
                let (body, response) = try await bin.session.data(for: request, delegate: delegate)
                try expect("status", try bin.answer(body, response).status, 404)
                try expect("calls", delegate.calls.filter { $0.hasPrefix("challenge") }, [])
            },
            HTTPBinChecks.Check("/hidden-basic-auth with a field of one's own") { bin in
                let fields = ["Authorization": "Basic bWU6c2VjcmV0"]
                try expect("status", try await bin.get("/hidden-basic-auth/me/secret", fields: fields).status, 200)
            },
            HTTPBinChecks.Check("/bearer with a token, and without") { bin in
                let answer = try await bin.get("/bearer", fields: ["Authorization": "Bearer abc"])
                try expect("token", answer.told("token"), "abc")
                try expect("status", try await bin.get("/bearer").status, 401)
            },
            HTTPBinChecks.Check("/digest-auth, nonces that go stale after every request") { bin in
                for _ in 0..<3 {
                    try expect(
                        "status", try await answered(bin, "/digest-auth/auth/me/secret/MD5/1", "secret"), 200)
                }
            },
            HTTPBinChecks.Check("/digest-auth with a wrong password is the 401") { bin in
                try expect("status", try await answered(bin, "/digest-auth/auth/me/secret/MD5/never", "wrong"), 401)
            },
        ]
        + ["MD5", "SHA-256"].map { algorithm in
            HTTPBinChecks.Check("/digest-auth with \(algorithm), qop auth, from a delegate and from the URL") { bin in
                let path = "/digest-auth/auth/me/secret/\(algorithm)/never"
                try expect("status", try await answered(bin, path, "secret"), 200)
                let other = bin.changed { _ in }
                try expect("status", try await other.get(path, user: "me").status, 200)
            }
        }

    /// The status, when a delegate gives this password once.
    private static func answered(_ bin: HTTPBin, _ path: String, _ password: String) async throws -> Int {
        let delegate = Recorder(challenge: { challenge in
            challenge.previousFailureCount == 0
                ? (.useCredential, URLCredential(user: "me", password: password, persistence: .none))
                : (.performDefaultHandling, nil)
        })
        let (body, response) = try await bin.session.data(for: bin.request(path), delegate: delegate)
        return try bin.answer(body, response).status
    }
}
