import PurlHTTP

/// The head of a response that is no interim one, and what comes after it: there a connection leaves HTTP, if its client
/// wants to.
struct Departure {
    let head: ResponseHead
    /// What was sent after it.
    let rest: [UInt8]

    /// `nil` when no response has come, or none that could be read.
    init?(_ exchange: ScriptedServer.Exchange) {
        let bytes = exchange.answer
        var parser = ResponseHeadParser()
        var offset = 0
        var interim = 0
        while let head = try? parser.parse(bytes.span.bytes, from: &offset) {
            if head.isInterim, head.status != 101 {
                interim += 1
                guard interim <= HeadLimits.standard.maximumInterimResponses else { return nil }
                continue
            }
            self.head = head
            rest = Array(bytes[offset...])
            return
        }
        return nil
    }
}
