internal import PurlHTTP

extension Reply {
    /// Sends the body in chunks of `size` bytes, each with `chunkExtension` (without the `;`) when there is one.
    ///
    /// To an HTTP/1.0 client the body goes until close instead.
    public func chunked(
        size: Int = 64 << 10, chunkExtension: String? = nil, trailers: KeyValuePairs<String, String> = [:]
    ) -> Reply {
        let chunking = Traits.Chunking(
            size: max(1, size), chunkExtension: chunkExtension, trailers: HeaderFields(trailers))
        return changed { $0.delivery = .chunked(chunking) }
    }

    /// Sends the body without a length: the end of the stream is the end of the body.
    public func untilClose() -> Reply {
        changed { $0.delivery = .untilClose }
    }

    /// Sends at most this many bytes of body a second.
    public func throttled(bytesPerSecond: Int) -> Reply {
        changed { $0.bytesPerSecond = max(1, bytesPerSecond) }
    }

    /// Writes head and body in pieces of at most `count` bytes, each in a turn of its own.
    public func inPieces(of count: Int) -> Reply {
        changed { $0.pieceSize = max(1, count) }
    }

    /// Closes the connection after the answer, with `Connection: close` or, unannounced, without.
    public func closingConnection(announced: Bool = true) -> Reply {
        changed { $0.persistence = announced ? .closedAsAnnounced : .closedUnannounced }
    }

    // MARK: The request's body

    /// Answers as soon as the request's head has arrived, without taking the body and without `100 Continue`, then
    /// closes the connection. Handlers of ``computed(_:)`` see no body.
    public func beforeBody() -> Reply {
        changed { $0.answersBeforeBody = true }
    }

    /// Takes the request's body (and answers `Expect: 100-continue`) only after the gate has opened.
    public func takingBody(after gate: Gate) -> Reply {
        changed { $0.bodyGate = gate }
    }

    /// Does not answer `Expect: 100-continue` with an interim response: it waits for the body.
    public func ignoringExpectation() -> Reply {
        changed { $0.sendsContinue = false }
    }
}
