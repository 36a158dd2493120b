import Foundation
import PurlTesting
import Testing

@testable import Purl

/// A background session's folder is named after its identifier, whatever that is.
@Suite(.timeLimit(.minutes(5))) struct IdentifierTests {
    static let strange = [
        "", ".", "..", "...", "/", "//", "/etc", "../escape", "a/../../escape", "a/b", "a\\b", "a b", "a%2Fb", "%",
        "%25",
        "a%", "\u{0}", "a\u{0}b", "a", "a.", ".a", "A", "a\nb", "\r\n", "~", "~root", "$HOME", "*", "-rf",
        "com.example.app",
        "下载", "🎬", "é", "\u{200F}", String(repeating: "x", count: 199), String(repeating: "x", count: 200),
        String(repeating: "x", count: 201), String(repeating: "x", count: 10_240),
        String(repeating: "x", count: 10_241),
        String(repeating: "/", count: 100), String(repeating: "../", count: 3000),
    ]

    @Test func everyIdentifierHasANameOfItsOwn() {
        let names = Self.strange.map(BackgroundFolder.folderName)
        #expect(Set(names).count == names.count)
        for name in names {
            #expect(!name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255)
            #expect(!name.utf8.contains(UInt8(ascii: "/")) && !name.utf8.contains(0))
        }
        #expect(BackgroundFolder.folderName("com.example.App-1_2") == "com.example.App-1_2")
    }

    @Test(arguments: strange) func theSessionLivesInOneFolderInsideTheHome(identifier: String) async throws {
        let sandbox = try Sandbox()
        let home = sandbox.file("home")
        let server = try LoopbackServer()
        let content = GeneratedContent(size: 700_000, seed: 1)
        let url = server.route("/file", .generated(content).entityTag("\"v1\"").stalled(afterBytes: 600_000))
        func makeSession(_ witness: Witness) -> URLSession {
            let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
            configuration.backgroundSessionsDirectory = home
            #expect(configuration.identifier == identifier)
            return URLSession(configuration: configuration, delegate: witness, delegateQueue: nil)
        }
        let witness = Witness()
        let session = makeSession(witness)
        session.downloadTask(with: url).resume()
        await witness.wait { $0.last == .wrote(600_000, of: 700_000) }
        let manager = FileManager.default
        #expect(try manager.contentsOfDirectory(atPath: sandbox.folder.path) == ["home"])
        let names = try manager.contentsOfDirectory(atPath: home.path)
        #expect(names.count == 1)
        let folder = home.appendingPathComponent(try #require(names.first))
        #expect(
            try manager.contentsOfDirectory(atPath: folder.path).sorted() == ["Partials", "lock", "tasks.v1.journal"])
        let mode = try manager.attributesOfItem(atPath: folder.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o700)
        session.invalidateAndCancel()
        await witness.wait { $0.last == .invalid }
        // And the same folder again.
        let second = Witness()
        let again = makeSession(second)
        #expect(again.configuration.identifier == identifier)
        again.finishTasksAndInvalidate()
        await second.wait { $0.last == .invalid }
        #expect(try manager.contentsOfDirectory(atPath: home.path) == names)
    }

    @Test func aSessionsFilesAreItsOwnersOnly() async throws {
        let killed = try await KilledDownload()
        let before = BackgroundHome(in: killed.home.sandbox)
        for file in [before.journal, before.session.appendingPathComponent("lock")] {
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }
}
