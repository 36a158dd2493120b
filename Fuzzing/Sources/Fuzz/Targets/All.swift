extension FuzzTarget {
    /// Every target there is.
    static let all: [FuzzTarget] = [
        responseHeads, requestHeads, chunkedBody, chunkSizes, trailers, plainBody, fieldValues, fieldLists, dates,
        challenges, codings, deflating, webSocketFrames, webSocketHandshakes, cacheRules, cookies, cookieFile,
        resumeData, resumability, cacheFile, journal, downloadItem, urls, dataURLs, proxies, client, conversations,
    ]
}
