import Foundation

/// Resume data as it is shown: the property list it is, with each key and its value in one line.
enum ResumeDataText {
    /// - Parameter width: Longer lines are cut.
    static func lines(_ resumeData: Data, width: Int) -> [String] {
        let text = String(decoding: resumeData, as: UTF8.self)
        var lines: [String] = []
        for line in text.split(separator: "\n") {
            let line = String(line).replacing("\t", with: "  ")
            if let last = lines.last, last.hasSuffix("</key>") {
                lines[lines.count - 1] = last + " " + line.trimmingCharacters(in: .whitespaces)
            } else {
                lines.append(line)
            }
        }
        return lines.map { $0.count <= width ? $0 : String($0.prefix(max(0, width - 1))) + "…" }
    }
}
