import Foundation

enum HTTPBinCookies {
    static let all = [
        HTTPBinChecks.Check("/cookies/set is kept across its redirect") { bin in
            let answer = try await bin.get("/cookies/set?a=1&b=2")
            try expect("place", answer.place, "/cookies")
            try expect("a", answer.told("cookies", "a"), "1")
            try expect("b", answer.told("cookies", "b"), "2")
        },
        HTTPBinChecks.Check("/cookies/set/NAME/VALUE, then sent with the next request") { bin in
            _ = try await bin.get("/cookies/set/a/1")
            try expect("a", try await bin.get("/cookies").told("cookies", "a"), "1")
            try expect("stored", bin.session.configuration.httpCookieStorage?.cookies?.map(\.name), ["a"])
        },
        HTTPBinChecks.Check("/cookies/delete deletes one, and leaves the other") { bin in
            _ = try await bin.get("/cookies/set?a=1&b=2")
            let answer = try await bin.get("/cookies/delete?a")
            try expect("a", answer.told("cookies", "a"), nil)
            try expect("b", answer.told("cookies", "b"), "2")
        },
        HTTPBinChecks.Check("no cookies where none are wanted") { bin in
            let other = bin.changed { $0.httpShouldSetCookies = false }
            try expect("a", try await other.get("/cookies/set?a=1").told("cookies", "a"), nil)
        },
        HTTPBinChecks.Check("a policy of never keeps none") { bin in
            let other = bin.changed { $0.httpCookieAcceptPolicy = .never }
            try expect("a", try await other.get("/cookies/set?a=1").told("cookies", "a"), nil)
            try expect("stored", other.session.configuration.httpCookieStorage?.cookies?.count, 0)
        },
    ]
}
