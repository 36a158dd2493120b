import Foundation
import Purl

/// The solution of exercise 6.
enum Solution6: RestRequests {
    static func request(for url: URL, continuing part: FilePart) -> URLRequest {
        var request = URLRequest(url: url)
        guard part.size > 0, let tag = part.entityTag, !tag.hasPrefix("W/") else { return request }
        request.setValue("bytes=\(part.size)-", forHTTPHeaderField: "Range")
        request.setValue(tag, forHTTPHeaderField: "If-Range")
        return request
    }

    static func plan(for response: HTTPURLResponse, continuing part: FilePart) -> AnswerPlan {
        let range = response.value(forHTTPHeaderField: "Content-Range") ?? ""
        let isSameVersion = [nil, part.entityTag].contains(response.value(forHTTPHeaderField: "ETag"))
        switch response.statusCode {
        case 200: return .startOver
        case 206: return range.hasPrefix("bytes \(part.size)-") && isSameVersion ? .append : .leave
        case 416: return range == "bytes */\(part.size)" && isSameVersion ? .complete : .leave
        default: return .leave
        }
    }
}
