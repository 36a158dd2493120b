import Foundation

/// A cookie as it lies on disk.
struct CookieRecord: Hashable, Codable, Sendable {
    var content: CookieContent
    /// When it was set last.
    var set: Date
}

/// What has happened to a cookie.
struct CookieChange: Sendable {
    let key: CookieKey
    /// What is to be kept of it; `nil`: nothing.
    let record: CookieRecord?
    /// Its place among all cookies of the jar, by age.
    let order: UInt64
}
