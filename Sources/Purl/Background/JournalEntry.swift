import Foundation

/// One line of a background session's journal: `{"task":{…}}` or `{"over":3}`.
enum JournalEntry: Sendable {
    /// All there is to say about a task.
    case task(TaskRecord)
    /// The last call about the task with this identifier has been delivered.
    case over(Int)

    private struct Form: Codable {
        var task: TaskRecord?
        var over: Int?
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return switch self {
        case .task(let record): try encoder.encode(Form(task: record))
        case .over(let identifier): try encoder.encode(Form(over: identifier))
        }
    }

    init?(decoding entry: Data) {
        guard let form = try? JSONDecoder().decode(Form.self, from: entry) else { return nil }
        switch (form.task, form.over) {
        case (let record?, nil): self = .task(record)
        case (nil, let identifier?): self = .over(identifier)
        case (nil, nil), (_?, _?): return nil
        }
    }
}
