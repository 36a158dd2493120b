import Foundation
import Purl
import PurlSimulation
import PurlTesting

extension Scenario {
    private struct Pages {
        /// The version that the server has, and when each one was replaced.
        var version = 1
        var replaced: [Int: Duration] = [:]
        var asked = 0
        /// The cookies that were set.
        var cookies: Set<String> = []
        var problem: String?
    }

    private static func text(_ version: Int, _ path: String) -> String {
        "\(path) \(version) " + String(repeating: "x\(version)", count: 200 + version * 131 % 700)
    }

    /// Pages that are cached for a minute and cookies that are kept, over kills and losses of power.
    static let cachedPages = Scenario("cached-pages") { world in
        let dice = Dice(world.seed, "cached-pages")
        let server = world.server("pages.example")
        let pages = Notes(Pages())
        let paths = ["/a", "/b", "/c"]
        for path in paths + ["/private"] {
            server.route(
                path,
                .computed { request in
                    let (now, renews) = (world.elapsed, dice.oneIn(3))
                    let cookie = request.fields["Cookie"]
                    let version = pages.change { pages in
                        if renews {
                            pages.replaced[pages.version] = now
                            pages.version += 1
                        }
                        pages.asked += 1
                        pages.cookies.insert("visit=\(pages.asked)")
                        if let cookie, !pages.cookies.contains(cookie) { pages.problem = "the cookie is \(cookie)" }
                        return (pages.version, pages.asked)
                    }
                    return .text(text(version.0, path)).entityTag("\"\(version.0)\"")
                        .field("Cache-Control", path == "/private" ? "no-store, max-age=60" : "max-age=60")
                        .field("Set-Cookie", "visit=\(version.1); Max-Age=86400; Path=/")
                })
        }
        if dice.oneIn(2) { world.chaos = dice.oneIn(2) ? .network : .all }
        let surprises = dice.pick([Computer.Surprises.none, .init(kills: 3), .init(kills: 1, powerLosses: 2)])
        try await world.computer("laptop").run("browser", surprises: surprises) {
            let session = URLSession(configuration: .default)
            for _ in 0..<12 {
                let path = dice.pick(paths + ["/private"])
                let (start, asked) = (world.elapsed, pages.value.asked)
                let body: String
                do {
                    body = String(decoding: try await session.data(from: server.url(path)).0, as: UTF8.self)
                } catch {
                    try await world.sleep(for: .seconds(1))
                    continue
                }
                let words = body.split(separator: " ")
                let version = words.count == 3 ? Int(words[1]) ?? 0 : 0
                try require(body == text(version, path), "\(path) is damaged: \(body.prefix(40))")
                if let replaced = pages.value.replaced[version] {
                    let age = start - replaced
                    try require(age < .seconds(61), "\(path): version \(version) was replaced \(age) ago")
                }
                if path == "/private" {
                    try require(pages.value.asked > asked, "what must not be stored came from the cache")
                }
                try await world.sleep(for: dice.oneIn(3) ? .seconds(dice.number(1...90)) : dice.moment())
            }
            session.finishTasksAndInvalidate()
        }
        if let problem = pages.value.problem { throw Unmet(problem) }
    }
}
