import Foundation

/// A request as files and archives keep it: resume data, the journal of a background session, `NSCoding`.
struct StoredRequest: Codable, Sendable, Equatable {
    var url: String
    var method: String
    var headers: [String: String]
    var timeoutInterval: Double
    /// Resume data never needs one, since only a GET without a body can be resumed; a background task that starts over
    /// does.
    var body: Data?
    // Absent when they are what a new request has.
    var cachePolicy: UInt?
    var networkServiceType: UInt?
    var forbidsCellularAccess: Bool?
    var handlesNoCookies: Bool?
    var usesPipelining: Bool?
    var hints: RequestHints?
    var mainDocumentURL: String?

    init(_ request: URLRequest) {
        url = request.url?.absoluteString ?? ""
        method = request.httpMethod ?? "GET"
        headers = request.allHTTPHeaderFields ?? [:]
        timeoutInterval = request.timeoutInterval
        body = request.httpBody
        if request.cachePolicy != .useProtocolCachePolicy { cachePolicy = request.cachePolicy.rawValue }
        if request.networkServiceType != .default {
            networkServiceType = request.networkServiceType.rawValue
        }
        if !request.allowsCellularAccess { forbidsCellularAccess = true }
        if !request.httpShouldHandleCookies { handlesNoCookies = true }
        if request.httpShouldUsePipelining { usesPipelining = true }
        if request.hints != RequestHints() { hints = request.hints }
        mainDocumentURL = request.mainDocumentURL?.absoluteString
    }

    var hasURL: Bool { URL(string: url) != nil }

    /// The request again; `nil` when the URL is not one.
    var request: URLRequest? {
        guard let url = URL(string: url) else { return nil }
        var request = URLRequest(
            url: url, cachePolicy: cachePolicy.flatMap(URLRequest.CachePolicy.init) ?? .useProtocolCachePolicy,
            timeoutInterval: timeoutInterval)
        request.httpMethod = method
        if !headers.isEmpty { request.allHTTPHeaderFields = headers }
        request.httpBody = body
        request.networkServiceType =
            networkServiceType.flatMap(URLRequest.NetworkServiceType.init) ?? .default
        request.allowsCellularAccess = forbidsCellularAccess != true
        request.httpShouldHandleCookies = handlesNoCookies != true
        request.httpShouldUsePipelining = usesPipelining == true
        if let hints { request.hints = hints }
        request.mainDocumentURL = mainDocumentURL.flatMap { URL(string: $0) }
        return request
    }
}
