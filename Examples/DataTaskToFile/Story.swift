import ExampleStage
import Foundation
import PurlTesting

private let film = GeneratedContent(size: 1_000_000, seed: 1)
private let served = Reply.generated(film).entityTag("\"v1\"")

/// The program is started, killed and started again, against servers with different behaviours.
@MainActor
func story() async throws {
    let stage = try Stage()
    defer { stage.folder.remove() }
    try await killed(stage)
    try await withoutRanges(stage)
    try await changed(stage)
    try await wrongRange(stage)
    try await complete(stage)
    try await sink(stage)
}

/// With a `FileHandle`, and killed without a warning.
@MainActor
private func killed(_ stage: Stage) async throws {
    let gate = ServerGate()
    let reply = served.stalled(afterBytes: 300_000, until: gate, times: 1).stalled(afterBytes: 600_000, times: 1)
    let url = stage.open("FileHandle: killed, then started twice", "/film", reply)

    var child = try stage.launch("handle", url)
    child.type("s")
    await stage.screen.waitFor("  |   30 %")
    child.type("p")
    await stage.screen.waitFor("  | suspended")
    child.type("r")
    await stage.screen.waitFor("  | resumed")
    gate.open()
    await stage.screen.waitFor("  |   60 %")
    await child.kill()
    stage.screen.print("(killed)")

    for _ in 1...2 {
        child = try stage.launch("handle", url)
        child.type("s")
        await child.end()
    }
    try stage.check(url, film)
}

/// With an `OutputStream`. Appending the second response would make the file one and a half times as long.
@MainActor
private func withoutRanges(_ stage: Stage) async throws {
    let reply = served.ignoringRange().stalled(afterBytes: 500_000, times: 1)
    let url = stage.open("OutputStream: the server does not support ranges", "/no-ranges", reply)
    let child = try stage.launch("stream", url)
    child.type("s")
    await stage.screen.waitFor("  |   50 %")
    child.type("c")
    await stage.screen.waitFor("  | stopped")
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

@MainActor
private func changed(_ stage: Stage) async throws {
    let sequel = GeneratedContent(size: 800_000, seed: 2)
    let reply = served.cut(afterBytes: 500_000).switching(after: 1, to: .generated(sequel).entityTag("\"v2\""))
    let url = stage.open("OutputStream: the file has changed", "/changed", reply)
    try await startTwice("stream", url, stage)
    try stage.check(url, sequel)
}

@MainActor
private func wrongRange(_ stage: Stage) async throws {
    let reply = Reply.sequence([served.cut(afterBytes: 500_000), served.contentRange(.shifted(by: 1000)), served])
    let url = stage.open("FileHandle: the server sends another range than requested", "/lie", reply)
    let child = try await startTwice("handle", url, stage, endsThen: false)
    await stage.screen.waitFor("  | stopped")
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

/// All bytes are on disk, but the total was unknown.
@MainActor
private func complete(_ stage: Stage) async throws {
    let url = stage.open("FileHandle: the file is complete, but its length was unknown", "/whole", served)
    try film.data.write(to: stage.file(url))
    try PartialRecord(total: nil, validator: "\"v1\"").save(for: stage.file(url))
    let child = try stage.launch("handle", url)
    child.type("s")
    await child.end()
    try stage.check(url, film)
}

/// With a sink, `dataTask(with:writingTo:)`.
@MainActor
private func sink(_ stage: Stage) async throws {
    let sequel = GeneratedContent(size: 800_000, seed: 2)
    let reply = Reply.sequence([
        served.cut(afterBytes: 300_000), served.cut(afterBytes: 400_000), .generated(sequel).entityTag("\"v2\""),
    ])
    let url = stage.open("A sink: cut off twice, then the file has changed", "/sink", reply)
    let child = try await startTwice("sink", url, stage, endsThen: false)
    await stage.screen.waitFor("  | the connection was lost")
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
    await stage.screen.waitFor("  | the connection was lost")
    child.type("s")
    if endsThen { await child.end() }
    return child
}
