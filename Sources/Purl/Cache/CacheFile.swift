import Foundation
internal import PurlHTTP

/// A stored response as it lies on disk: the SHA-256 of all that follows the first line, a line of JSON, the body.
///
/// Of the request only the fields named by `Vary` are kept. What does not match its digest is no stored response.
enum CacheFile {
    /// The line of JSON.
    private struct Head: Codable {
        static let version = 1
        var version = Head.version
        /// The key's.
        var url: String
        var policy: UInt
        var userInfo: Data?
        var requestTime: Int64
        var responseTime: Int64
        /// Names and values.
        var requestFields: [[String]]
        var http: HTTP?
        var other: Other?
        var responseURL: String

        struct HTTP: Codable {
            var status: Int
            var version: String
            var fields: [[String]]
        }

        struct Other: Codable {
            var mimeType: String?
            var length: Int64
            var textEncodingName: String?
        }
    }

    /// `nil` for a response that no transfer has got and nobody has said to have asked for, and for one without a URL.
    static func encode(_ cached: CachedURLResponse, for key: CacheKey) -> Data? {
        let response = cached.response
        guard let circumstances = cached.circumstances, let url = response.url?.absoluteString else { return nil }
        var head = Head(
            url: key.url, policy: cached.storagePolicy.rawValue, userInfo: cached.userInfoData,
            requestTime: circumstances.requestTime, responseTime: circumstances.responseTime, requestFields: [],
            responseURL: url)
        if let response = response as? HTTPURLResponse {
            let fields = CacheStorage.storedFields(of: response.fields)
            head.http = Head.HTTP(
                status: response.statusCode, version: "\(response.head.version)", fields: pairs(fields))
            if case .fields(let names) = VaryList(fields) {
                head.requestFields = pairs(circumstances.requestFields).filter { names.contains(FieldName($0[0])) }
            }
        } else {
            head.other = Head.Other(
                mimeType: response.mimeType, length: response.expectedContentLength,
                textEncodingName: response.textEncodingName)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(head) else { return nil }
        let rest = line + [UInt8(ascii: "\n")] + cached.data
        return Data(rest.sha256.utf8) + [UInt8(ascii: "\n")] + rest
    }

    /// `nil` for what is damaged, and what answers something else.
    static func decode(_ file: Data, for key: CacheKey) -> CachedURLResponse? {
        guard let digestEnd = file.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let rest = Data(file[(digestEnd + 1)...])
        guard file[..<digestEnd].elementsEqual(rest.sha256.utf8),
            let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n")),
            let head = try? JSONDecoder().decode(Head.self, from: Data(rest[..<lineEnd])),
            head.version == Head.version, head.url == key.url, let url = URL(string: head.responseURL),
            let policy = URLCache.StoragePolicy(rawValue: head.policy)
        else { return nil }
        let response: URLResponse
        if let http = head.http {
            response = HTTPURLResponse(
                url: url,
                head: ResponseHead(
                    version: http.version == "HTTP/1.0" ? .http1_0 : .http1_1, status: http.status,
                    fields: fields(http.fields)))
        } else if let other = head.other, let length = Int(exactly: other.length) {
            response = URLResponse(
                url: url, mimeType: other.mimeType, expectedContentLength: length,
                textEncodingName: other.textEncodingName)
        } else {
            return nil
        }
        return CachedURLResponse(
            response, Data(rest[(lineEnd + 1)...]), head.userInfo.flatMap { CachedURLResponse.userInfo(from: $0) },
            policy,
            CacheCircumstances(
                requestFields: fields(head.requestFields), requestTime: head.requestTime,
                responseTime: head.responseTime))
    }

    private static func pairs(_ fields: HeaderFields) -> [[String]] {
        fields.map { [$0.name, $0.value] }
    }

    private static func fields(_ pairs: [[String]]) -> HeaderFields {
        var fields = HeaderFields()
        for pair in pairs where pair.count == 2 { fields.append(FieldName(pair[0]), pair[1]) }
        return fields
    }
}
