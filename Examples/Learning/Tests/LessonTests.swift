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
        try await expect(scene, toMake: Catalogue.picture(scene.name))
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

    @Test(
        "A knife makes the same player wherever it falls, and at its ends and in the middle each of twenty times",
        arguments: Knife.all)
    func knives(_ knife: Knife) async throws {
        #expect((20...40).contains(knife.cuts.count))
        let often = [knife.cuts.first, knife.cuts[knife.cuts.count / 2], knife.cuts.last]
        for cut in knife.cuts {
            let first = try await knife.run(cut: cut)
            let page = first.film.page
            #expect(first.outcome.isRight || knife.isNaive, "\(knife.name), \(cut): \(first.outcome.words)")
            for _ in 2...(often.contains(cut) ? 20 : 2) {
                let play = try await knife.run(cut: cut)
                let isSame = play.film.page == page && play.outcome == first.outcome
                try #require(
                    isSame, "\(knife.name), \(cut): \(Difference(play.film.picture, from: first.film.picture))")
            }
        }
    }

    @Test("The naive recipe makes a wrong file where a part changes that it has already, and nowhere else")
    func naiveChange() async throws {
        for cut in Knife.naiveChange.cuts {
            let isRight = try await Knife.naiveChange.run(cut: cut).outcome.isRight
            #expect(isRight == (cut > 11), "byte \(cut)")
        }
    }

    @Test("The game makes the same moves each time")
    func game() async throws {
        let first = try await Game.play().json
        for _ in 2...3 {
            let isSame = try await Game.play().json == first
            try #require(isSame)
        }
    }

    @Test("The gallery makes the same pages each of twenty times")
    func gallery() throws {
        let first = try galleryPages()
        #expect(first.count > 80)
        for _ in 2...20 {
            let isSame = try galleryPages() == first
            try #require(isSame)
        }
    }

    @Test("The page on failures has each code of the gallery, and leads to each exhibit")
    func failures() throws {
        let page = try String(
            contentsOf: Catalogue.root.appendingPathComponent("../../Sources/Purl/Purl.docc/Failures.md"),
            encoding: .utf8)
        let links = page.matches(of: /gallery\/index\.html#([\w-]+)/).map { String($0.1) }
        let exhibits = try GalleryPage().exhibits
        #expect(Set(links) == Set(exhibits.map(\.name) + exhibits.map { "code-\($0.code)" }))
        for line in page.split(separator: "\n") {
            guard let code = line.firstMatch(of: /#code-(\w+)\), −(\d+)/) else { continue }
            let own = exhibits.filter { $0.code == code.1 }
            #expect(own.allSatisfy { $0.number == -(Int(code.2) ?? 0) && line.contains("#\($0.name))") }, "\(code.1)")
        }
    }

    private func galleryPages() throws -> [String] {
        let page = try GalleryPage()
        return [try page.content()] + (try page.exhibits.flatMap { [try $0.film.page, try $0.film.picture] })
    }

    @Test("A page lists what its delegates were called with", arguments: Lesson.all)
    func calls(_ lesson: Lesson) async throws {
        let page = try String(contentsOf: lesson.page, encoding: .utf8)
        for scene in lesson.scenes {
            let film = try await scene.run()
            try expect(page, toShow: film.calls, after: scene.name)
        }
    }

    @Test("A page shows what a simulation finds, as text and as a picture", arguments: Lesson.all.flatMap(\.findings))
    func findings(_ finding: Finding) throws {
        let story = try #require(finding.story(), "no seed fails")
        let committed = try String(contentsOf: Catalogue.picture(finding.name), encoding: .utf8)
        let isSame = story.picture == committed
        #expect(isSame, "\(Difference(story.picture, from: committed))")
        let lesson = try #require(Lesson.all.first { $0.findings.contains { $0.name == finding.name } })
        try expect(
            String(contentsOf: lesson.page, encoding: .utf8), toShow: story.lines, after: finding.name)
    }

    private func expect(_ page: String, toShow lines: [String], after picture: String) throws {
        let changed = try #require(Catalogue.page(page, showing: lines, after: picture), "\(picture) is not shown")
        let isSame = changed == page
        #expect(isSame, "\(Difference(changed, from: page))")
    }

    @Test("The good postman of lesson 11 loses no letter and brings none twice, whatever the seed is")
    func goodPostman() {
        #expect(firstFailure(1...500, [.kills, .resets], of: Learning.goodPostman) == nil)
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

extension Finding: CustomTestStringConvertible {
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
