import Foundation
import PurlTesting

/// Loading with a user's `URLProtocol` classes.
enum ProtocolScenarios {
    static let all =
        ["file", "404", "pieces", "fails", "own-error", "late", "redirect"].map { path in
            Scenario("protocol.\(path)") { stage in await load(stage, "http://host.stub/\(path)") }
        } + [
            Scenario("protocol.async") { stage in
                guard let url = URL(string: "http://host.stub/file") else { return }
                let (data, response) = try await stage.session(nil, standIn).data(from: url)
                stage.note("body", String(decoding: data, as: UTF8.self))
                stage.noteResponse(response)
            },
            Scenario("protocol.pieces-handler") { stage in
                guard let url = URL(string: "http://host.stub/pieces") else { return }
                let (data, _) = try await stage.session(nil, standIn).data(from: url)
                stage.note("body", String(decoding: data, as: UTF8.self))
            },
            Scenario("protocol.own-scheme") { stage in await load(stage, "mine://host.stub/file") },
            Scenario("protocol.download") { stage in
                guard let url = URL(string: "http://host.stub/pieces") else { return }
                let recorder = Recorder()
                await stage.run(stage.session(recorder, standIn).downloadTask(with: url), recorder)
            },
            Scenario("protocol.other-hosts") { stage in
                let recorder = Recorder()
                let url = stage.server.route("/file", .text("from the network"))
                await stage.run(stage.session(recorder, standIn).dataTask(with: url), recorder)
            },
            Scenario("protocol.request") { stage in
                guard let url = URL(string: "http://host.stub/request") else { return }
                let recorder = Recorder()
                let session = stage.session(recorder) {
                    standIn($0)
                    $0.httpAdditionalHeaders = ["X-Session": "session"]
                }
                var request = URLRequest(url: url)
                request.httpMethod = "PUT"
                request.setValue("own", forHTTPHeaderField: "X-Own")
                keep("noted", forKey: "note", in: &request)
                await stage.run(session.dataTask(with: request), recorder)
            },
            Scenario("protocol.registered") { stage in
                stage.note("a protocol", URLProtocol.registerClass(StandIn.self))
                stage.note("no protocol", URLProtocol.registerClass(NSString.self))
                guard let url = URL(string: "http://host.stub/file") else { return }
                await noteBody(stage, url, URLSession.shared)
                await noteBody(stage, url, URLSession(configuration: .default))
                URLProtocol.unregisterClass(StandIn.self)
                await noteBody(stage, url, URLSession.shared)
            },
            Scenario("protocol.property") { stage in
                guard let url = URL(string: "http://host.stub/request") else { return }
                var request = URLRequest(url: url)
                stage.note("before", URLProtocol.property(forKey: "key", in: request))
                keep("value", forKey: "key", in: &request)
                let copy = request
                stage.note("kept", URLProtocol.property(forKey: "key", in: request))
                stage.note("equal", request == URLRequest(url: url))
                keepNothing(forKey: "key", in: &request)
                stage.note("removed", URLProtocol.property(forKey: "key", in: request))
                stage.note("in the copy", URLProtocol.property(forKey: "key", in: copy))
            },
            Scenario("protocol.equivalent") { stage in
                guard let url = URL(string: "http://host.stub/file") else { return }
                let request = URLRequest(url: url)
                stage.note("equivalent", StandIn.requestIsCacheEquivalent(request, to: request))
            },
            Scenario("protocol.base-class") { stage in
                guard let url = URL(string: "http://host.stub/file") else { return }
                let request = URLRequest(url: url)
                stage.note("task", StandIn.canInit(with: stage.session().dataTask(with: request)))
                let stub = StandIn(request: request, cachedResponse: nil, client: nil)
                stage.note("request", stub.request.url)
                stage.note("cached", stub.cachedResponse)
                stage.note("task", stub.task)
            },
        ]

    private static func standIn(_ configuration: URLSessionConfiguration) {
        configuration.protocolClasses = [StandIn.self] + (configuration.protocolClasses ?? [])
    }

    private static func load(_ stage: Stage, _ address: String) async {
        guard let url = URL(string: address) else { return }
        let recorder = Recorder()
        await stage.run(stage.session(recorder, standIn).dataTask(with: url), recorder)
    }

    private static func noteBody(_ stage: Stage, _ url: URL, _ session: URLSession) async {
        do {
            stage.note("body", String(decoding: try await session.data(from: url).0, as: UTF8.self))
        } catch {
            stage.note("error", (error as NSError).code)
        }
    }
}
