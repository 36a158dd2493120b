import PurlHTTP
import Testing

@Suite("Passwords of URLs in texts")
struct URLPasswordTests {
    @Test(
        "A password is hidden, and nothing else",
        arguments: [
            ("http://u:p@host/x", "http://u:•••@host/x"), ("http://u:p@q@host", "http://u:•••@host"),
            ("http://u@host/x", "http://u@host/x"), ("http://u:@host", "http://u:•••@host"),
            ("http://host:80/a:b@c?d:e@f#g:h@i", "http://host:80/a:b@c?d:e@f#g:h@i"),
            ("http://u:p@host/?next=http://a:b@c", "http://u:•••@host/?next=http://a:b@c"),
            ("//u:p@host", "//u:•••@host"), ("u:p@host", "u:p@host"), ("", ""), ("a@b", "a@b"),
            (" moved  to “http://u:p@a” and http://v:q@b ", " moved  to “http://u:•••@a” and http://v:•••@b "),
            ("http://u:p%40\u{301}@host", "http://u:•••@host"), ("http://u:p@\u{301}host", "http://u:•••@\u{301}host"),
            ("x -- http://u:p@host/", "x -- http://u:•••@host/"), ("http:///u:p@host", "http:///u:p@host"),
        ])
    func hidden(text: String, shown: String) {
        #expect(URLPassword.hidden(in: text) == shown)
    }
}
