import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    /// Redirects between origins, with users, passwords and cookies that belong to one of them, and bodies that are sent again.
    static let redirectsAndCredentials = Scenario("redirects-and-credentials") { world in
        let dice = Dice(world.seed, "redirects-and-credentials")
        let first = world.server("first.example")
        // A cookie that names no domain is for its own host, and not for those below it (RFC 6265 §5.3 step 6).
        let second = world.server(dice.pick(["second.example", "www.first.example"]))
        let third = world.server("first.example", port: 8_080)
        let taken = Notes<[String: Int]>([:])
        let login = "Basic " + Data("jo:second".utf8).base64EncodedString()
        let status = dice.pick([301, 302, 303, 307, 308])
        let target = dice.pick([second, third])
        let asks = dice.oneIn(2)
        for method in ["GET", "POST"] {
            first.route(
                "/start", method: method,
                .redirect(status, to: target.url("/there").absoluteString).field("Set-Cookie", "first=1; Path=/"))
        }
        target.route(
            "/there",
            .computed { request in
                if asks, request.fields["Authorization"] != login {
                    return .status(401).field("WWW-Authenticate", "Basic realm=\"there\"")
                }
                let key = "\(request.method) \(String(decoding: request.body, as: UTF8.self))"
                taken.change { $0[key, default: 0] += 1 }
                return .text("there")
            })
        if !dice.oneIn(4) { world.chaos = .network }
        let keeper = Keeper(credential: URLCredential(user: "jo", password: "second", persistence: .forSession))
        let session = URLSession(configuration: .default, delegate: keeper, delegateQueue: nil)
        for number in 0..<dice.number(1...5) {
            var request = URLRequest(url: first.url("/start"))
            let sends = dice.oneIn(2)
            request.httpMethod = sends ? "POST" : "GET"
            if sends { request.httpBody = Data("order \(number)".utf8) }
            if dice.oneIn(2) { request.setValue("Basic Zmlyc3Q6Zmlyc3Q=", forHTTPHeaderField: "Authorization") }
            if dice.oneIn(2) { request.setValue("mine=1", forHTTPHeaderField: "Cookie") }
            let task = session.dataTask(with: request)
            task.resume()
            let seen = await keeper.completion(of: task)
            try require(seen.problem == nil, seen.problem ?? "")
            if seen.error == nil {
                try require(
                    seen.bytes == Data("there".utf8), "the body is \(String(decoding: seen.bytes, as: UTF8.self))")
            } else {
                try require(!world.chaos.isEmpty, "without a fault: \(String(describing: seen.error))")
            }
            let isKept = sends && status >= 307
            if isKept {
                let count = taken.value["POST order \(number)"] ?? 0
                try require(count <= 1 && (count == 1 || seen.error != nil), "order \(number) was taken \(count) times")
            }
            try require(!sends || isKept || taken.value["POST order \(number)"] == nil, "\(status) sent the body again")
            if dice.oneIn(2) { try await world.sleep(for: dice.moment()) }
        }
        for request in target.requests {
            let credential = request.fields["Authorization"]
            try require(credential == nil || credential == login, "credentials of the first origin at the second")
            try require(
                request.fields["Cookie"].map { !$0.contains("mine") } ?? true, "the program's cookie at the second")
            if target === second {
                try require(request.fields["Cookie"] == nil, "the first one's cookie at the second")
            }
        }
        for request in first.requests {
            try require(request.fields["Authorization"] != login, "credentials of the second origin at the first")
        }
        session.invalidateAndCancel()
    }
}
