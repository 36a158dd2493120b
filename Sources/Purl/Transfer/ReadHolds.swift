/// Why nothing is read from the connection.
struct ReadHolds: OptionSet {
    let rawValue: Int
    static let suspended = ReadHolds(rawValue: 1)
    /// The delegate has been asked a question, and has not answered it.
    static let deciding = ReadHolds(rawValue: 2)
    /// The consumer has as many bytes as it may.
    static let full = ReadHolds(rawValue: 4)
    /// There is more to decode than one turn of the loop may take.
    static let decoding = ReadHolds(rawValue: 8)
}

/// What a trace shows of the reasons why nothing is read.
extension TaskTrace {
    func hold(_ holds: ReadHolds) {
        if let hold = TransferTrace.Hold(holds) { record(.held(hold)) }
    }

    func release(_ holds: ReadHolds) {
        if let hold = TransferTrace.Hold(holds) { record(.released(hold)) }
    }
}

extension TransferTrace.Hold {
    fileprivate init?(_ holds: ReadHolds) {
        switch holds {
        case .suspended: self = .suspended
        case .deciding: self = .deciding
        case .full: self = .full
        case .decoding: self = .decoding
        default: return nil
        }
    }
}
