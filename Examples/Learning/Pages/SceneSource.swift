import Foundation
import PurlTrace

/// The program of a scene: the files of the lesson that it plays, and the scene itself, in which a user presses its buttons.
struct SceneSource {
    let program: TracedProgram

    /// - Parameters:
    ///   - name: The name of the scene.
    ///   - folders: Where its source may be.
    ///   - others: Where its program may be; by default in the same folders.
    init(_ name: String, in folders: [URL], others: [URL]? = nil) throws {
        for folder in folders {
            let files = try Self.files(in: folder)
            let found = files.lazy.compactMap { file in Self.lines(of: name, in: file.text).map { (file, $0) } }.first
            guard let (stage, lines) = found else { continue }
            let part = TracedProgram.File(
                name: "the scene, in \(stage.name)", text: lines.text, firstLine: lines.first)
            // The declaration's own type is not one that the scene makes.
            let body = lines.text.split(separator: "\n").dropFirst().joined(separator: "\n")
            // A knife may use what the scenes of its lesson share.
            let shared = try (others ?? []).flatMap(Self.files).filter { $0.name.hasSuffix("Scenes.swift") }
                .flatMap { Self.functions(of: $0.text) }.filter { !$0.text.contains("fileprivate func") }
            let helpers = (Self.functions(of: stage.text) + shared).filter { body.contains("\($0.name)(") }.map(\.text)
            let played = ([body] + helpers).joined(separator: "\n")
            var names: Set = [stage.name]
            let others = try (files + (others ?? folders).flatMap(Self.files)).filter { names.insert($0.name).inserted }
            let made = others.filter { Self.makes($0, played) }
            // What the program makes, as far as it is a delegate.
            let parts = others.filter { other in
                other.text.contains("func urlSession(") && made.contains { $0 != other && Self.makes(other, $0.text) }
            }
            let programs = made + parts.filter { !made.contains($0) }
            program = TracedProgram(programs + [part])
            return
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// Whether a program makes an object of the type that a file is named after.
    private static func makes(_ file: TracedProgram.File, _ program: String) -> Bool {
        let type = file.name.dropLast(".swift".count)
        return [type + "(", type + " {"].contains { name in
            program.ranges(of: name).contains { range in
                range.lowerBound == program.startIndex || !program[program.index(before: range.lowerBound)].isLetter
            }
        }
    }

    private static func files(in folder: URL) throws -> [TracedProgram.File] {
        try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }.sorted { $0.path < $1.path }
            .map { file in
                var text = try String(contentsOf: file, encoding: .utf8)
                if text.hasSuffix("\n") { text.removeLast() }
                return TracedProgram.File(name: file.lastPathComponent, text: text)
            }
    }

    /// The lines of a scene's declaration.
    private static func lines(of name: String, in text: String) -> (text: String, first: Int)? {
        let lines = text.components(separatedBy: "\n")
        // The name is the first argument, on the declaration's line or on the next.
        guard let place = lines.firstIndex(where: { $0.contains("\"\(name)\", ") }) else { return nil }
        let isNext = lines[place].drop { $0 == " " }.hasPrefix("\"") && place > 0 && lines[place - 1].hasSuffix("(")
        guard isNext || lines[place].contains("(\"\(name)\", ") else { return nil }
        let start = isNext ? place - 1 : place
        let indentation = lines[start].prefix { $0 == " " }
        guard let end = lines[start...].firstIndex(of: indentation + "}") else { return nil }
        let part = lines[start...end].map {
            String($0.dropFirst(min(indentation.count, $0.prefix { $0 == " " }.count)))
        }
        return (part.joined(separator: "\n"), start + 1)
    }

    /// The functions that scenes share, with their names.
    private static func functions(of text: String) -> [(name: Substring, text: String)] {
        let lines = text.components(separatedBy: "\n")
        return lines.indices.compactMap { start -> (name: Substring, text: String)? in
            guard let name = lines[start].firstMatch(of: /func (\w+)\(/)?.1 else { return nil }
            let brace = String(lines[start].prefix { $0 == " " }) + "}"
            let end = lines[start...].firstIndex(of: brace) ?? start
            return (name, lines[start...end].joined(separator: "\n"))
        }
    }
}
