package import Foundation
internal import Purl
internal import PurlTrace

/// Films of faults: the lessons' site shows them.
///
/// They are recorded once, so that their pages are the same each time. To act them out again shows whether they are still true.
package struct Gallery {
    /// What the index of the films knows of an exhibit.
    private struct Entry: Codable, Equatable {
        let name: String
        let title: String
        /// The kind of task.
        let kind: String
        /// The error's code by its name and its number.
        let code: String
        let number: Int
        /// What Foundation says of the code, and what Purl says of the failure.
        let sentence: String
        let reason: String
        let advice: String

        init(_ exhibit: Exhibit, _ error: URLError, code: String) {
            name = exhibit.name
            title = exhibit.title
            kind = exhibit.cell.kind.rawValue
            self.code = code
            number = error.code.rawValue
            sentence = error.localizedDescription
            reason = Gallery.withoutPlaces(error.failureSentence)
            advice = exhibit.advice
        }
    }

    /// An exhibit whose task succeeds, or whose delegate is not called with an error.
    private struct NoFailure: Error {
        let name: String
    }

    private let folder: URL

    /// - Parameter folder: Where the films are, and their index, `gallery.json`.
    package init(_ folder: URL) {
        self.folder = folder
    }

    /// A text without the names that are others in each run: those of the cell's folder and of partial files.
    private static func withoutPlaces(_ text: String) -> String {
        text.replacing(/\/[^ "“]*purl-fault-[0-9A-F-]{36}/, with: "/downloads")
            .replacing(/purl-[0-9a-f-]{36}\.partial/, with: "purl-0.partial")
    }

    private var index: URL { folder.appendingPathComponent("gallery.json") }

    /// Acts all exhibits out, and writes their films and the index.
    package func write() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var entries: [Entry] = []
        for exhibit in Exhibit.all {
            let (recording, entry) = try await Self.act(exhibit)
            try Self.json(of: recording).write(to: folder.appendingPathComponent("\(exhibit.name).json"))
            entries.append(entry)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(entries).write(to: index)
    }

    /// Acts all exhibits out.
    ///
    /// - Returns: What is no longer as the index has it.
    package func check() async throws -> [String] {
        let known = try JSONDecoder().decode([Entry].self, from: Data(contentsOf: index))
        var problems: [String] = []
        if known.map(\.name) != Exhibit.all.map(\.name) { problems.append("the index has other exhibits") }
        for (exhibit, entry) in zip(Exhibit.all, known) {
            let (recording, acted) = try await Self.act(exhibit)
            if acted != entry { problems.append("\(exhibit.name): \(acted) is not \(entry)") }
            let file = folder.appendingPathComponent("\(exhibit.name).json")
            let film = try TransferTrace.Recording(json: Data(contentsOf: file))
            let isShown = film.events.contains { event in
                if case .completed(let error?) = event.kind { error == entry.reason } else { false }
            }
            if !isShown { problems.append("\(exhibit.name): the film does not show “\(entry.reason)”") }
            // How far the client has come when its user acts is another thread's.
            if case .atGate = exhibit.cell.fault.meddling?.moment { continue }
            let again = try TransferTrace.Recording(json: Self.json(of: recording))
            for (known, now) in zip(Self.accounts(of: film), Self.accounts(of: again)) where known != now {
                problems.append("\(exhibit.name): now \(now.difference(from: known))")
            }
        }
        return problems
    }

    /// What a recording shows of one lane, without times: nothing that another run may do otherwise.
    private struct Account: Equatable {
        let lane: TransferTrace.Lane
        let lines: [String]

        /// The first line that differs.
        func difference(from known: Account) -> String {
            let position = zip(lines, known.lines).prefix { $0 == $1 }.count
            let line = { (lines: [String]) in position < lines.count ? "“\(lines[position])”" : "nothing more" }
            return "the \(lane.rawValue) lane has \(line(lines)), the film \(line(known.lines))"
        }
    }

    /// Each lane by itself, since threads take turns in no certain order: the delegate's calls with their arguments, what was sent and
    /// received, what was written. When the network thread learns what the delegate and the file worker have done is not compared.
    private static func accounts(of recording: TransferTrace.Recording) -> [Account] {
        var options = TextTrace.Options()
        options.showsTimes = false
        options.showsFields = true
        return TransferTrace.Lane.allCases.map { lane in
            var part = recording
            part.events = recording.events.filter { event in
                switch event.kind {
                case .queued, .ended, .answer, .held, .released, .written: false
                default: event.lane == lane
                }
            }
            return Account(lane: lane, lines: TextTrace(part, options: options).lines)
        }
    }

    private static func json(of recording: TransferTrace.Recording) throws -> Data {
        Data(withoutPlaces(String(decoding: try recording.json, as: UTF8.self)).utf8)
    }

    private static func act(_ exhibit: Exhibit) async throws -> (recording: TransferTrace.Recording, entry: Entry) {
        let (recording, error) = try await exhibit.cell.film()
        let codes = recording.events.compactMap { event -> String? in
            guard case .began(let call) = event.kind, case .failure(let code, _) = call.arguments else { return nil }
            return code
        }
        guard let error = error as? URLError, let code = codes.last else { throw NoFailure(name: exhibit.name) }
        let name = code.hasPrefix("URLError.") ? String(code.dropFirst("URLError.".count)) : code
        return (recording, Entry(exhibit, error, code: name))
    }
}
