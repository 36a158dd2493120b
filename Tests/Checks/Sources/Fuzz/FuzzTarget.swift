/// Something that takes bytes from outside, and what must hold for it whatever the bytes are.
struct FuzzTarget: Sendable {
    /// As it is given on the command line; its corpus and its dictionary are called so, too.
    let name: String
    /// Tries one input. A property that does not hold ends the process; see ``require(_:_:)``.
    let run: @Sendable ([UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.run = run
    }

    static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

extension FuzzTarget {
    /// Every target there is.
    static let all: [FuzzTarget] = [
        responseHeads, requestHeads, chunkedBody, chunkSizes, trailers, plainBody, fieldValues, fieldLists, dates,
        challenges, codings, deflating, webSocketFrames, webSocketHandshakes, socksHandshakes, cacheRules, cookies,
        cookieFile, resumeData, resumability, uploadFields, uploadStates, cacheFile, journal, downloadItem, urls,
        dataURLs, fileNames, proxies, client, conversations, scripts, texts, savedTraces,
    ]
}
