import Foundation

/// One line of a background session's journal: `{"task":{…}}` or `{"over":3}`.
enum JournalEntry: Sendable {
    /// All there is to say about a task.
    case task(TaskRecord)
    /// The last call about the task with this identifier has been delivered.
    case over(Int)

    var identifier: Int {
        switch self {
        case .task(let record): record.identifier
        case .over(let identifier): identifier
        }
    }

    private static let infinity = "inf"
    private static let negativeInfinity = "-inf"
    private static let notANumber = "nan"

    private struct Form: Codable {
        var task: TaskRecord?
        var over: Int?
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A request may have an endless time-out, which JSON has no number for.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: Self.infinity, negativeInfinity: Self.negativeInfinity, nan: Self.notANumber)
        return switch self {
        case .task(let record): try encoder.encode(Form(task: record))
        case .over(let identifier): try encoder.encode(Form(over: identifier))
        }
    }

    init?(decoding entry: Data) {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: Self.infinity, negativeInfinity: Self.negativeInfinity, nan: Self.notANumber)
        guard let form = try? decoder.decode(Form.self, from: entry) else { return nil }
        switch (form.task, form.over) {
        case (let record?, nil) where TaskRecord.identifiers.contains(record.identifier): self = .task(record)
        case (nil, let identifier?) where TaskRecord.identifiers.contains(identifier): self = .over(identifier)
        default: return nil
        }
    }
}
