import Foundation
internal import PurlHTTP

extension URL {
    /// The URL as it is shown to people, in messages and logs: its password, if it has one, is hidden.
    package var shownText: String { URLPassword.hidden(in: absoluteString) }
}
