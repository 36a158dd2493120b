import Foundation

@testable import Purl

/// The journal as text: what tests look for in it, and what they put there.
enum JournalText {
    /// A line of the journal for any entry, digest and all.
    static func line(_ entry: Data) -> Data {
        Data("\(entry.sha256.prefix(16)) ".utf8) + entry + Data("\n".utf8)
    }

    static func line(_ entry: String) -> Data { line(Data(entry.utf8)) }

    /// The entries of a journal in order; lines that do not match their digest do not count.
    static func entries(in journal: Data) -> [JournalEntry] {
        journal.split(separator: UInt8(ascii: "\n")).compactMap { text in
            let entry = Data(text.dropFirst(17))
            guard line(entry).dropLast().elementsEqual(text) else { return nil }
            return JournalEntry(decoding: entry)
        }
    }

    /// What the journal says of the tasks that are not over.
    static func records(in journal: Data) -> [Int: JournaledTask] {
        var records: [Int: JournaledTask] = [:]
        for entry in entries(in: journal) {
            switch entry {
            case .task(let record): records[record.identifier] = record
            case .over(let identifier): records[identifier] = nil
            }
        }
        return records
    }
}

extension BackgroundHome {
    var records: [Int: JournaledTask] {
        get throws { JournalText.records(in: try Data(contentsOf: journal)) }
    }

    /// The bytes of the task that the journal says are safe.
    func safeBytes(of identifier: Int = 1) throws -> Int64? {
        try records[identifier]?.resume?.bytesReceived
    }
}
