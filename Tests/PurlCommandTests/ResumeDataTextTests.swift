import Foundation
import Testing

@testable import PurlCommand

@Suite("Resume data as text")
struct ResumeDataTextTests {
    @Test("has each key and its value in one line, cut to the width")
    func lines() {
        let text = """
            <dict>
            \t<key>bytesReceived</key>
            \t<integer>10</integer>
            \t<key>request</key>
            \t<dict>
            \t\t<key>url</key>
            \t\t<string>http://host/a/very/long/path</string>
            \t</dict>
            </dict>
            """
        #expect(
            ResumeDataText.lines(Data(text.utf8), width: 44) == [
                "<dict>",
                "  <key>bytesReceived</key> <integer>10</int…",
                "  <key>request</key> <dict>",
                "    <key>url</key> <string>http://host/a/ve…",
                "  </dict>",
                "</dict>",
            ])
    }
}
