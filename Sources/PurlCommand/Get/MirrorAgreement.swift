import Foundation
import Purl
import PurlDownloads

/// Which servers of one file say that they have the same bytes: those that name one SHA-256 of the whole, and one length.
///
/// It counts until the file has arrived, and has that SHA-256 or not: a server may have another file by the time it is asked for it.
struct MirrorAgreement: Sendable {
    /// The SHA-256 that they name.
    let checksum: Checksum
    /// The servers in the order in which they were given; at least two.
    let urls: [URL]

    private struct Claim: Equatable {
        let checksum: Checksum
        let length: Int64
    }

    /// A server that takes longer to answer, or sends its head byte by byte, is not asked for parts at the same time.
    private static let patience = Duration.seconds(3)

    /// Asks each server for the digest of its file (RFC 9530), all of them at the same time.
    ///
    /// - Parameters:
    ///   - requests: Those for the whole, of the server and its mirrors.
    ///   - onResponse: Called with what each server was sent, and has answered.
    /// - Returns: `nil` where no two of them agree.
    static func find(
        among requests: [URLRequest], _ content: CodedContent, in session: URLSession,
        onResponse: @escaping @Sendable (URLRequest, HTTPURLResponse) -> Void
    ) async -> MirrorAgreement? {
        let claims = await withTaskGroup(of: (Int, Claim?).self) { group in
            for (number, request) in requests.enumerated() {
                group.addTask { (number, await claim(of: request, content, in: session, onResponse)) }
            }
            let end = requests.count
            group.addTask {
                try? await Task.sleep(for: patience)
                return (end, nil)
            }
            var claims: [Int: Claim] = [:]
            var open = requests.count
            while open > 0, let (number, claim) = await group.next(), number != end {
                claims[number] = claim
                open -= 1
            }
            group.cancelAll()
            return claims
        }
        for claim in requests.indices.compactMap({ claims[$0] }) {
            let urls = requests.indices.filter { claims[$0] == claim }.compactMap { requests[$0].url }
            if urls.count > 1 { return MirrorAgreement(checksum: claim.checksum, urls: urls) }
        }
        return nil
    }

    private static func claim(
        of request: URLRequest, _ content: CodedContent, in session: URLSession,
        _ onResponse: @Sendable (URLRequest, HTTPURLResponse) -> Void
    ) async -> Claim? {
        var head = request
        head.askForHead()
        guard let (_, response) = try? await session.data(for: head) as? (Data, HTTPURLResponse) else { return nil }
        onResponse(head, response)
        guard response.statusCode == 200, response.expectedContentLength >= 0,
            let checksum = response.fileSHA256(content).flatMap({ Checksum($0) })
        else { return nil }
        return Claim(checksum: checksum, length: response.expectedContentLength)
    }
}

extension URLRequest {
    /// Asks for the head of what would be downloaded, and not for what a cache has.
    mutating func askForHead() {
        httpMethod = "HEAD"
        cachePolicy = .reloadIgnoringLocalCacheData
        // The version whose parts are requested.
        if value(forHTTPHeaderField: "Accept-Encoding") == nil {
            setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        }
    }
}
