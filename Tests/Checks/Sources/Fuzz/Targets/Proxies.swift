import PurlHTTP

extension FuzzTarget {
    /// A SOCKS proxy's replies; the first bytes choose what the proxy is asked for.
    static let socksHandshakes = FuzzTarget("socks-handshakes") { bytes in
        var choices = Choices(bytes)
        let destination: SOCKSHandshake.Destination =
            choices.flag() ? .name(choices.line()) : .address([UInt8](repeating: 7, count: choices.flag() ? 4 : 16))
        let user = choices.flag() ? choices.line() : nil
        let password = choices.flag() ? choices.line() : nil
        let rest = choices.remainder()
        guard
            var handshake = try? SOCKSHandshake(to: destination, port: 80, user: user, password: password)
        else { return }
        var offset = 0
        var steps = 0
        while !handshake.isDone {
            require(handshake.needed > 0, "a handshake that is not done waits for something")
            require(handshake.needed <= 257, "and for no more than a name and a port")
            guard offset + handshake.needed <= rest.count else { return }
            let reply = Array(rest[offset..<offset + handshake.needed])
            offset += reply.count
            steps += 1
            require(steps <= 5, "the handshake ends")
            handshake.clearOutput()
            do throws(SOCKSFailure) {
                try handshake.receive(reply)
            } catch {
                require(!error.description.isEmpty, "a failure has a sentence")
                return
            }
        }
        require(handshake.needed == 0, "a handshake that is done takes nothing more")
    }
}
