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
            ("http://u:p@host/?next=http://a:b@c", "http://u:•••@host/?next=http://a:•••@c"),
            ("http://h/?n=http%3A%2F%2Fa%3Ab%40c%2F&m=d@e", "http://h/?n=http%3A%2F%2Fa%3A•••%40c%2F&m=d@e"),
            ("http://h/?n=http%3a%2f%2Fa:b@c", "http://h/?n=http%3a%2f%2Fa:•••@c"),
            ("http://u:p%2F%2Fq%40r@host", "http://u:•••@host"),
            ("http://h?n=%2F%2Fa&m=b:c@d", "http://h?n=%2F%2Fa&m=b:c@d"),
            ("0;url=http://u:p@h/", "0;url=http://u:•••@h/"), ("<//u:p@h>,<//v:q@i>", "<//u:•••@h>,<//v:•••@i>"),
            ("<//u:p@h/>,<//v:q@i/>", "<//u:•••@h/>,<//v:•••@i/>"), ("//a\tb:c@d", "//a\tb:c@d"), ("//%2", "//%2"),
            ("//%2F%2F%2F%2", "//%2F%2F%2F%2"), ("%2F%2F", "%2F%2F"), ("%2F%2Fa%4", "%2F%2Fa%4"),
            ("%2F%2F@", "%2F%2F@"),
            ("//u:p@host", "//u:•••@host"), ("u:p@host", "u:p@host"), ("", ""), ("a@b", "a@b"),
            (" moved  to “http://u:p@a” and http://v:q@b ", " moved  to “http://u:•••@a” and http://v:•••@b "),
            ("http://u:p%40\u{301}@host", "http://u:•••@host"), ("http://u:p@\u{301}host", "http://u:•••@\u{301}host"),
            ("x -- http://u:p@host/", "x -- http://u:•••@host/"), ("http:///u:p@host", "http:///u:p@host"),
        ])
    func hidden(text: String, shown: String) {
        #expect(URLPassword.hidden(in: text) == shown)
    }
    @Test(
        "A user is hidden with the password, wherever the URL stands",
        arguments: [
            ("http://u:p@host/x", "http://(user)@host/x"), ("http://u@host", "http://(user)@host"),
            ("0; url='http://u:p@h/'", "0; url='http://(user)@h/'"),
            ("<http://u:p@h/a>; rel=next, <//v@i/b>", "<http://(user)@h/a>; rel=next, <//(user)@i/b>"),
            ("/login?next=http%3A%2F%2Fa%3Ab%40c%2F", "/login?next=http%3A%2F%2F(user)%40c%2F"),
            ("u:p@host", "u:p@host"), ("/a@b", "/a@b"), ("", ""), ("//@", "//(user)@"),
        ])
    func hiddenUsers(text: String, shown: String) {
        #expect(URLPassword.hidden(in: text, withUsersAs: "(user)") == shown)
    }
}
