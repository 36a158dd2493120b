import ExampleStage
import Foundation
import PurlTesting

private let film = GeneratedContent(size: 1_000_000, seed: 1)
private let served = Reply.generated(film).entityTag("\"v1\"")

/// The program is started, killed and started again, against servers of all kinds.
@MainActor
func story() async throws {
    let stage = try Stage()
    defer { stage.folder.remove() }
    try await killed(stage)
    try await withoutRanges(stage)
    try await changed(stage)
    try await lied(stage)
    try await whole(stage)
    try await sink(stage)
}

/// Way one. The kill comes without a warning, so what is on disk is all there is.
@MainActor
private func killed(_ stage: Stage) async throws {
    let gate = Gate()
    let reply = served.stalled(afterBytes: 300_000, until: gate, times: 1).stalled(afterBytes: 600_000, times: 1)
    let url = stage.open("FileHandle: killed, started again, and again", "/film", reply)

    var child = try stage.launch("handle", url)
    child.type("s")
    await stage.screen.heard("  |   30 %")
    child.type("p")
    await stage.screen.heard("  | suspended")
    child.type("r")
    await stage.screen.heard("  | resumed")
    gate.open()
    await stage.screen.heard("  |   60 %")
    await child.kill()
    stage.screen.say("(killed)")

    for _ in 1...2 {
        child = try stage.launch("handle", url)
        child.type("s")
        await child.end()
    }
    try stage.check(url, film)
}

/// Way two. Appending what this server sends would make a file of one and a half films.
@MainActor
private func withoutRanges(_ stage: Stage) async throws {
    let reply = served.ignoringRange().stalled(afterBytes: 500_000, times: 1)
    let url = stage.open("OutputStream: the server knows no ranges", "/no-ranges", reply)
    let child = try stage.launch("stream", url)
    child.type("s")
    await stage.screen.heard("  |   50 %")
    child.type("c")
    await stage.screen.heard("  | stopped")
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

@MainActor
private func changed(_ stage: Stage) async throws {
    let sequel = GeneratedContent(size: 800_000, seed: 2)
    let reply = served.cut(afterBytes: 500_000).switching(after: 1, to: .generated(sequel).entityTag("\"v2\""))
    let url = stage.open("OutputStream: the file is another one now", "/changed", reply)
    try await startTwice("stream", url, stage)
    try stage.check(url, sequel)
}

@MainActor
private func lied(_ stage: Stage) async throws {
    let reply = Reply.sequence([served.cut(afterBytes: 500_000), served.contentRange(.shifted(by: 1000)), served])
    let url = stage.open("FileHandle: the server sends another part than was asked for", "/lie", reply)
    let child = try await startTwice("handle", url, stage, endsThen: false)
    await stage.screen.heard("  | stopped")
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

/// All bytes are there, but nobody knew how many there would be.
@MainActor
private func whole(_ stage: Stage) async throws {
    let url = stage.open("FileHandle: asked for the rest of a whole file", "/whole", served)
    try film.data.write(to: stage.file(url))
    try PartialRecord(total: nil, validator: "\"v1\"").save(for: stage.file(url))
    let child = try stage.launch("handle", url)
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

/// All of the above in one line, `dataTask(with:writingTo:)`.
@MainActor
private func sink(_ stage: Stage) async throws {
    let sequel = GeneratedContent(size: 800_000, seed: 2)
    let reply = Reply.sequence([
        served.cut(afterBytes: 300_000), served.cut(afterBytes: 400_000), .generated(sequel).entityTag("\"v2\""),
    ])
    let url = stage.open("A sink: cut off twice, then the file is another one", "/sink", reply)
    let child = try await startTwice("sink", url, stage, endsThen: false)
    await stage.screen.heard("  | the connection was lost")
    child.type("q")
    await child.end()
    for _ in 1...2 {
        let child = try stage.launch("sink", url)
        child.type("s")
        await child.end()
    }
    try stage.check(url, sequel)
}

@MainActor
@discardableResult
private func startTwice(_ way: String, _ url: URL, _ stage: Stage, endsThen: Bool = true) async throws -> Child {
    let child = try stage.launch(way, url)
    child.type("s")
    await stage.screen.heard("  | the connection was lost")
    child.type("s")
    if endsThen { await child.end() }
    return child
}
