/// What a server does, step by step, as an input says it.
///
/// The bytes are those it sends. `FF` and a byte after it are an instruction: `00` ends a portion, `01` closes the
/// connection, `02` closes it with what has come on it unread, if anything has, `03` ends the server's side of it, `04` waits
/// for the next request, `05` sends a byte many times (its count in units of 64, then the byte); with any other byte behind
/// it `FF` is a byte like others.
struct ServerScript: Sendable {
    enum Step: Sendable {
        case send([UInt8])
        case close
        case abandon
        case shutdown
        case awaitRequest
    }

    var steps: [Step] = []

    init(_ bytes: some Sequence<UInt8>) {
        var portion: [UInt8] = []
        var rest = Array(bytes)[...]
        func finishPortion(_ steps: inout [Step]) {
            if !portion.isEmpty { steps.append(.send(portion)) }
            portion = []
        }
        while let byte = rest.popFirst() {
            guard byte == 0xFF, let code = rest.first, code <= 5 else {
                portion.append(byte)
                continue
            }
            rest.removeFirst()
            if code == 5 {
                let count = Int(rest.popFirst() ?? 0) * 64
                portion += repeatElement(rest.popFirst() ?? 0, count: count)
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
