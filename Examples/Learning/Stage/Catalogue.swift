import Foundation

/// The DocC catalogue of the lessons: pages that are written, with parts that the scenes make.
enum Catalogue {
    /// The folder of this example.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    static let folder = root.appendingPathComponent("Learning.docc", isDirectory: true)

    /// Where a picture is.
    ///
    /// - Parameter name: That of a scene or a finding.
    static func picture(_ name: String) -> URL {
        folder.appendingPathComponent("Resources/\(name).svg", isDirectory: false)
    }

    /// A page with the lines of a scene or a finding in it: the first block of text after its picture.
    ///
    /// - Returns: `nil` when the page does not show the picture.
    static func page(_ text: String, showing shown: [String], after picture: String) -> String? {
        var lines = text.components(separatedBy: "\n")
        guard let place = lines.firstIndex(where: { $0.hasSuffix("](\(picture))") }),
            let start = lines[place...].firstIndex(of: "```text"),
            let end = lines[start...].firstIndex(of: "```")
        else { return nil }
        lines.replaceSubrange(start + 1..<end, with: shown)
        return lines.joined(separator: "\n")
    }

    /// The blocks of Swift in a page, in their order, each as its lines without the indentation that they share.
    static func programs(in text: String) -> [[String]] {
        var programs: [[String]] = []
        var current: [String]?
        for line in text.components(separatedBy: "\n") {
            if line == "```swift" {
                current = []
            } else if line == "```", let program = current {
                programs.append(program)
                current = nil
            } else {
                current?.append(line)
            }
        }
        return programs
    }

    /// Whether a block of a page is part of a file: its lines follow each other there, further indented or not. A line
    /// `// …` stands for any that are left out.
    static func isPart(_ program: [String], of file: String) -> Bool {
        let lines = file.components(separatedBy: "\n")
        let parts = program.split { $0.trimmingCharacters(in: .whitespaces) == "// …" }.map(Array.init)
        var rest = lines[...]
        for part in parts {
            let found = rest.indices.first { start in
                rest.indices.contains(start + part.count - 1) && isIndented(part, as: rest[start..<start + part.count])
            }
            guard let found else { return false }
            rest = rest[(found + part.count)...]
        }
        return !parts.isEmpty
    }

    private static func isIndented(_ part: [String], as lines: ArraySlice<String>) -> Bool {
        guard let first = lines.first, first.hasSuffix(part[0]) else { return false }
        let indentation = String(first.dropLast(part[0].count))
        guard indentation.allSatisfy({ $0 == " " }) else { return false }
        return zip(part, lines).allSatisfy { $0.isEmpty ? $1.isEmpty : $1 == indentation + $0 }
    }
}
