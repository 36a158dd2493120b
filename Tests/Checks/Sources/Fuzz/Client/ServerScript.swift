/// What a server does, step by step, read from an input.
///
/// The bytes are those it sends. `FF` and a byte after it are an instruction: `00` ends a portion, `01` closes the
/// connection, `02` closes it with what has come on it unread, if anything has, `03` ends the server's side of it, `04` waits
/// for the next request (where no requests are made any more: for anything the client sends), `05` sends a byte many times
/// (its count in units of 64, then the byte), `06` stands for the `Sec-WebSocket-Accept` that the latest request wants to
/// see; with any other byte behind it `FF` is a byte like others.
struct ServerScript: Sendable {
    /// What is sent at once.
    struct Portion: Sendable {
        var bytes: [UInt8] = []
        /// Where the answer to the latest request's key has its place.
        var answers: [Int] = []

        var isEmpty: Bool { bytes.isEmpty && answers.isEmpty }

        /// With `answer` in its places.
        func filled(with answer: some Collection<UInt8>) -> [UInt8] {
            var bytes = bytes
            for place in answers.reversed() { bytes.insert(contentsOf: answer, at: place) }
            return bytes
        }
    }

    enum Step: Sendable {
        case send(Portion)
        case close
        case abandon
        case shutdown
        case awaitRequest
    }

    var steps: [Step] = []

    init(_ bytes: some Sequence<UInt8>) {
        var portion = Portion()
        var rest = Array(bytes)[...]
        func finishPortion(_ steps: inout [Step]) {
            if !portion.isEmpty { steps.append(.send(portion)) }
            portion = Portion()
        }
        while let byte = rest.popFirst() {
            guard byte == 0xFF, let code = rest.first, code <= 6 else {
                portion.bytes.append(byte)
                continue
            }
            rest.removeFirst()
            if code == 5 {
                let count = Int(rest.popFirst() ?? 0) * 64
                portion.bytes += repeatElement(rest.popFirst() ?? 0, count: count)
                continue
            }
            if code == 6 {
                portion.answers.append(portion.bytes.count)
                continue
            }
            finishPortion(&steps)
            switch code {
            case 1: steps.append(.close)
            case 2: steps.append(.abandon)
            case 3: steps.append(.shutdown)
            case 4: steps.append(.awaitRequest)
            default: break
            }
        }
        finishPortion(&steps)
    }
}
