import PurlHTTP
import Testing

@Suite("No field value does harm")
struct HostileCookieTests {
    @Test("Pieces of cookies in any order are read, or not, and no more", arguments: UInt64(0)..<4)
    func anyPieces(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "a", "=", ";", ",", " ", "\t", "Expires=", "Max-Age=", "Domain=", "Path=", "Secure", "HttpOnly",
            "SameSite=", "-",
            "9", "99999999999", ":", "Nov", "1994", "08:49:37", ".", "/", "\u{0}", "é", "🍪", "__Host-", "GMT", "[",
            "::1",
        ]
        for _ in 0..<5_000 {
            let text = (0..<Int.random(in: 0..<12, using: &generator))
                .compactMap { _ in pieces.randomElement(using: &generator) }.joined()
            let cookie = SetCookie(text)
            if let cookie { #expect(cookie.name.utf8.count + cookie.value.utf8.count > 0) }
            _ = SetCookie.list(joined: text)
            _ = CookieDate.read(text)
            _ = CookieDomain.covers(text, host: "x." + text)
            _ = CookiePath.covers(text, request: CookiePath.standard(for: text))
        }
    }
}
