import Foundation
internal import PurlHTTP

extension ResponseHead {
    /// What the rules go by for a response that was made in this process. One that is not HTTP counts as a 200.
    init(of response: URLResponse) {
        if let response = response as? HTTPURLResponse {
            self.init(status: response.statusCode, fields: response.fields)
            return
        }
        var fields = HeaderFields()
        if let type = response.mimeType { fields.append(.contentType, type) }
        if response.expectedContentLength >= 0 {
            fields.append(.contentLength, String(response.expectedContentLength))
        }
        self.init(status: 200, fields: fields)
    }
}

extension BodyFraming {
    /// The framing of a response that was made in this process, whose content has no coding, whatever its head says.
    static func ofLocal(_ head: ResponseHead, to method: String) -> BodyFraming {
        let framing = (try? ofResponse(head, to: method)) ?? .untilClose
        guard case .length = framing, head.fields.contains(.contentEncoding) else { return framing }
        return .untilClose
    }
}
