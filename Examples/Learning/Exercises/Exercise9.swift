import Foundation
import Purl

/// Exercise 9: the value that may be sent as `If-Range` for the bytes of a response, or `nil` if there is none.
///
/// A server that says `Accept-Ranges: none` sends no rests. An entity tag is good if it is strong. Without an entity tag,
/// `Last-Modified` is good if it is at least one second before `Date`: otherwise the file may have changed again in the same
/// second (RFC 9110 §8.8.2.2).
///
/// Here everything is good.
enum Exercise9 {
    static func validator(of response: HTTPURLResponse) -> String? {
        response.value(forHTTPHeaderField: "ETag") ?? response.value(forHTTPHeaderField: "Last-Modified")
    }
}
