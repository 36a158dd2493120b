import Foundation
import PurlTesting

/// Redirects of all kinds.
enum RedirectScenarios {
    static let all =
        [301, 302, 303, 307, 308].map { status in
            Scenario("redirect.methods-\(status)") { stage in
                stage.server.route("/end", .text("end"))
                let url = stage.server.route("/start", .redirect(status, to: "/end"))
                for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] {
                    stage.server.forgetRequests()
                    let hasBody = method == "POST" || method == "PUT" || method == "PATCH"
                    var request = stage.request(url, method, body: hasBody ? "the body" : nil)
                    if hasBody { request.setValue("text/plain", forHTTPHeaderField: "Content-Type") }
                    await stage.load(request)
                    stage.noteRequests()
                    stage.noteBodies()
                    stage.noteFields("Content-Type")
                }
            }
        } + [
            Scenario("redirect.locations") { stage in
                let locations = [
                    "/abs", "next", "../up", "?q=2", "//127.0.0.1:\(stage.server.port)/host", "/a%20b", "/a#new",
                ]
                for location in locations {
                    await follow(stage, location)
                }
            },
            Scenario("redirect.space-in-location") { stage in await follow(stage, "/a b") },
            Scenario("redirect.umlaut-in-location") { stage in await follow(stage, "/ä") },
            Scenario("redirect.empty-location") { stage in
                await stage.load(stage.server.route("/start", .text("here").status(302).field("Location", "")))
            },
            Scenario("redirect.no-location") { stage in
                for status in [301, 302, 303, 307, 308] {
                    await stage.load(stage.server.route("/start", .text("here").status(status)))
                }
            },
            Scenario("redirect.fragment-inherited") { stage in
                stage.server.route("/end", .text("end"))
                stage.server.route("/start", .redirect(to: "/end"))
                await stage.load(stage.server.url("/start#old"))
            },
            Scenario("redirect.not-followed-300-305-306") { stage in
                stage.server.route("/end", .text("end"))
                for status in [300, 305, 306] {
                    await stage.load(
                        stage.server.route("/start", .text("here").status(status).field("Location", "/end")))
                }
            },
            Scenario("redirect.304-with-location") { stage in
                stage.server.route("/end", .text("end"))
                await stage.load(stage.server.route("/start", .status(304).field("Location", "/end")))
            },
            Scenario("redirect.refused") { stage in
                let url = stage.server.route("/start", .text("moved").status(302).field("Location", "/end"))
                await stage.load(url, Recorder(redirect: { _ in nil }))
                stage.noteRequests()
            },
            Scenario("redirect.changed") { stage in
                let url = stage.server.route("/start", .redirect(to: "/end"))
                let other = stage.server.route("/other", .text("other"))
                await stage.load(url, Recorder(redirect: { _ in URLRequest(url: other) }))
                stage.noteRequests()
            },
            Scenario("redirect.current-request") { stage in
                stage.server.route("/end", .text("end"))
                let task = await stage.load(stage.server.route("/start", .redirect(to: "/end")))
                stage.note("original", task.originalRequest?.url?.absoluteString)
                stage.note("current", task.currentRequest?.url?.absoluteString)
            },
            Scenario("redirect.too-many") { stage in
                let url = stage.server.route("/loop", .redirect(to: "/loop"))
                await stage.load(url)
            },
            Scenario("redirect.handler") { stage in
                stage.server.route("/end", .text("end"))
                await LoadingScenarios.handled(stage, stage.server.route("/start", .redirect(to: "/end")))
            },
            Scenario("redirect.handler-too-many") { stage in
                await LoadingScenarios.handled(stage, stage.server.route("/loop", .redirect(to: "/loop")))
            },
            Scenario("redirect.other-origin-authorization") { stage in
                stage.server.route("/end", .text("end"))
                let port = stage.server.port
                let url = stage.server.route("/start", .redirect(to: "http://localhost:\(port)/end"))
                var request = URLRequest(url: url)
                request.setValue("Basic eA==", forHTTPHeaderField: "Authorization")
                request.setValue("kept", forHTTPHeaderField: "X-Other")
                await stage.load(request)
                stage.noteFields("Authorization", "X-Other")
            },
            Scenario("redirect.to-https") { stage in await follow(stage, "https://127.0.0.1:1/end") },
            Scenario("redirect.to-file") { stage in await follow(stage, "file:///etc/hostname") },
            Scenario("redirect.to-ftp") { stage in await follow(stage, "ftp://127.0.0.1:1/end") },
            Scenario("redirect.body-of-the-redirect") { stage in
                stage.server.route("/end", .text("end"))
                await stage.load(
                    stage.server.route("/start", .text("not this").status(302).field("Location", "/end")))
            },
            Scenario("redirect.download") { stage in
                stage.server.route("/end", .text("end"))
                let recorder = Recorder()
                let url = stage.server.route("/start", .redirect(to: "/end"))
                await stage.run(stage.session(recorder).downloadTask(with: url), recorder)
            },
        ]

    private static func follow(_ stage: Stage, _ location: String) async {
        stage.server.forgetRequests()
        stage.server.fallback(.text("end"))
        stage.server.route("/dir/page", .sequence([.redirect(to: location), .text("end")]))
        stage.note("to", location)
        await stage.load(stage.server.url("/dir/page?x=1"))
        stage.noteRequests()
    }
}
