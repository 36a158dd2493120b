import Foundation
import PurlTrace
import Testing

@testable import Learning

@Suite("Lessons", .timeLimit(.minutes(5)))
struct LessonTests {
    @Test(
        "A scene makes the picture that is shown, and the same player, byte for byte, each of twenty times",
        arguments: Lesson.all.flatMap(\.scenes))
    func pictures(_ scene: Scene) async throws {
        try await expect(scene, toMake: Catalogue.picture(of: scene))
    }

    @Test("So do the scenes of the libraries' documentation, and their pages show them", arguments: Illustration.all)
    func illustrations(_ illustration: Illustration) async throws {
        try await expect(illustration.scene, toMake: illustration.picture)
        let page = try String(contentsOf: illustration.pageFile, encoding: .utf8)
        #expect(page.contains("](\(illustration.scene.name))"))
    }

    private func expect(_ scene: Scene, toMake picture: URL) async throws {
        let committed = try String(contentsOf: picture, encoding: .utf8)
        let program = try SceneSource(scene.name, in: Site.sources).program
        var player: String?
        for _ in 1...20 {
            let film = try await scene.run()
            let drawn = film.picture
            // Of two whole pictures only the difference is of interest.
            let isSame = drawn == committed
            try #require(isSame, "\(Difference(drawn, from: committed))")
            let page = film.page(showing: program)
            let isSamePage = page == player ?? page
            try #require(isSamePage, "\(scene.name) makes another player")
            player = page
        }
    }

    @Test("A knife makes the same player each time, wherever it cuts", arguments: Knife.all)
    func knives(_ knife: Knife) async throws {
        for cut in knife.cuts {
            let (first, second) = (try await knife.run(cut: cut), try await knife.run(cut: cut))
            let isSame = first.film.page == second.film.page
            #expect(isSame, "\(knife.name), \(cut): \(Difference(first.film.picture, from: second.film.picture))")
            #expect(
                first.outcome.isRight || knife.name == "naive-files", "\(knife.name), \(cut): \(first.outcome.words)")
        }
    }

    @Test("A page lists what its delegates were called with", arguments: Lesson.all)
    func calls(_ lesson: Lesson) async throws {
        let page = try String(contentsOf: lesson.page, encoding: .utf8)
        for scene in lesson.scenes {
            let film = try await scene.run()
            let changed = try #require(Catalogue.page(page, showing: film, of: scene), "\(scene.name) is not shown")
            let isSame = changed == page
            #expect(isSame, "\(Difference(changed, from: page))")
        }
    }

    @Test("Each block of Swift in a page is part of the lesson's program", arguments: Lesson.all)
    func programs(_ lesson: Lesson) throws {
        let files = try FileManager.default
            .contentsOfDirectory(at: lesson.folder, includingPropertiesForKeys: nil)
            .map { try String(contentsOf: $0, encoding: .utf8) }
        let programs = Catalogue.programs(in: try String(contentsOf: lesson.page, encoding: .utf8))
        #expect(!programs.isEmpty)
        for program in programs {
            #expect(
                files.contains { Catalogue.isPart(program, of: $0) }, "in no file:\n\(program.joined(separator: "\n"))")
        }
    }
}

/// The first lines in which a text differs from another.
struct Difference: CustomStringConvertible {
    let description: String

    init(_ text: String, from expected: String) {
        let lines = (text.components(separatedBy: "\n"), expected.components(separatedBy: "\n"))
        let difference = lines.0.difference(from: lines.1).prefix(12).map { change in
            switch change {
            case .insert(let offset, let line, _): "+ \(offset + 1): \(line)"
            case .remove(let offset, let line, _): "- \(offset + 1): \(line)"
            }
        }
        description =
            difference.joined(separator: "\n") + "\n`swift run Learning write` in Examples/Learning makes it anew."
    }
}

extension Scene: CustomTestStringConvertible {
    public var testDescription: String { name }
}

extension Knife: CustomTestStringConvertible {
    public var testDescription: String { name }
}

extension Illustration: CustomTestStringConvertible {
    public var testDescription: String { "\(page): \(scene.name)" }
}

extension Lesson: CustomTestStringConvertible {
    public var testDescription: String { "\(number), \(name)" }
}
