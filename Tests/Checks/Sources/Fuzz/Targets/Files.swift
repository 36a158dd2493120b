import Foundation
import PurlHTTP

@testable import Purl
@testable import PurlDownloads

extension FuzzTarget {
    /// A stored response's file, and its name. The digest in front is put right, or nothing behind it would ever be
    /// looked at.
    static let cacheFile = FuzzTarget("cache-file") { bytes in
        Files.look(atName: bytes)
        guard let url = URL(string: "http://example.com/a") else { return }
        let key = CacheKey(url)
        require(CacheFile.decode(Data(bytes)) == nil, "what does not match its digest is nothing")
        guard let (_, response) = CacheFile.decode(Files.digested(bytes)) else { return }
        guard let written = CacheFile.encode(response, for: key) else { fail("what was read can be written") }
        guard let (itsURL, again) = CacheFile.decode(written) else { fail("what was written can be read") }
        requireSame(itsURL, key.url, "for the same key")
        requireSame(again.data, response.data, "with the same content")
        requireSame(again.response.url, response.response.url, "and the same URL")
        requireSame(
            (again.response as? HTTPURLResponse)?.statusCode, (response.response as? HTTPURLResponse)?.statusCode,
            "and the same status")
        requireSame(again.provenance?.responseTime, response.provenance?.responseTime, "got at the same time")
        _ = response.rules?.reuse(for: [:], at: 1_000_000_000)
        _ = response.cost
    }

    /// A journal as it lies on disk, and one whose lines have the right digests.
    static let journal = FuzzTarget("journal") { bytes in
        for content in [Data(bytes), Files.journal(bytes)] {
            let files = MemoryFiles(["/j/" + Journal.fileName: content])
            var lines: [Data] = []
            guard var journal = try? Journal(in: URL(fileURLWithPath: "/j"), files: files, entries: &lines) else {
                fail("a journal can be opened whatever is in it")
            }
            require(journal.length <= content.count, "nothing is made up")
            for line in lines { Files.look(atEntry: line) }
            // One entry more is read behind the others, whatever is left of a torn line.
            let entry = Data(#"{"over":7}"#.utf8)
            guard (try? journal.append(entry)) != nil else { fail("an entry can be added") }
            var again: [Data] = []
            _ = try? Journal(in: URL(fileURLWithPath: "/j"), files: files, entries: &again)
            requireSame(again, lines + [entry], "an entry more is read behind the others")
            guard var successor = try? journal.prepareSuccessor(), (try? successor.append(lines)) != nil,
                (try? journal.append(entry)) != nil, (try? journal.complete(&successor)) == true
            else { fail("a journal can be compacted") }
            _ = try? Journal(in: URL(fileURLWithPath: "/j"), files: files, entries: &again)
            requireSame(again, lines + [entry], "compacted it has its tasks, and what was added meanwhile")
        }
    }

    /// The file of a cookie storage. The digest in front is put right.
    static let cookieFile = FuzzTarget("cookie-file") { bytes in
        let folder = URL(fileURLWithPath: "/c")
        let path = "/c/" + CookieFile.fileName
        let file = CookieFile(in: folder, files: MemoryFiles([path: Files.digested(bytes)]))
        let stored = file.load()
        let now = Date(timeIntervalSince1970: 784_111_777)
        var jar = CookieJar(stored, at: now, tracksChanges: true)
        for cookie in jar.all(at: now) { require(cookie.content.isSound, "a cookie that is read is sound") }
        for host in ["http://example.com/", "http://127.0.0.1/", "http://a.b.example.com/x/y"] {
            guard let target = CookieURL(URL(string: host)) else { continue }
            for cookie in jar.cookies(for: target, at: now) {
                require(CookieDomain.covers(cookie.key.domain, host: target.host), "a cookie goes where it belongs")
            }
        }
        requireSame(
            CookieJar(jar.storedCookies, at: now, tracksChanges: false).storedCookies, jar.storedCookies,
            "stored cookies are stable")
    }

    /// What is kept of an unfinished download of the manager's.
    static let downloadItem = FuzzTarget("download-item") { bytes in
        var choices = Choices(bytes)
        if choices.flag() {
            let name = choices.line()
            _ = DownloadItem(decoding: Data(choices.remainder()), fileName: name)
        } else {
            guard let url = URL(string: choices.line()), let current = URL(string: choices.line()) else { return }
            var item = DownloadItem(
                url: url, currentURL: current, sha256: choices.optionalLine().map { [$0] } ?? [], intent: .wanted,
                order: choices.integer()
            )
            item.totalBytes = choices.flag() ? choices.integer() : nil
            item.serverSHA256 = choices.optionalLine()
            guard let written = try? item.encoded() else { return }
            let name = DownloadPaths.fileName(of: url) + "." + DownloadPaths.itemType
            require(!name.contains("/") && name.utf8.count <= 255, "a file's name is one component")
            guard let read = DownloadItem(decoding: written, fileName: name) else { return }
            requireSame(read, item, "what is taken is what was written")
            require(DownloadItem(decoding: written, fileName: "x" + name) == nil, "under its own name only")
        }
    }
}

private enum Files {
    /// The bytes as a name of a cache's file, and as what one is made of.
    static func look(atName bytes: [UInt8]) {
        let text = String(decoding: bytes.prefix(100), as: UTF8.self)
        if let name = CacheFolder.Name(text[...]) { requireSame(name.text, text, "a name is written in one way only") }
        var choices = Choices(bytes)
        let slot = CacheSlot(
            number: UInt64(bitPattern: choices.integer()), variant: UInt64(bitPattern: choices.integer()))
        let name = CacheFolder.Name(slot: slot, stored: choices.integer())
        requireSame(CacheFolder.Name(name.text[...]), name, "every name written is read")
    }

    /// The bytes behind the SHA-256 that they must have.
    static func digested(_ bytes: [UInt8]) -> Data {
        Data(Data(bytes).sha256.utf8) + [UInt8(ascii: "\n")] + bytes
    }

    /// The lines of the input, each behind the digest that it must have. The last one may be torn.
    static func journal(_ bytes: [UInt8]) -> Data {
        var text = Data()
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            text += Data(Data(line).sha256.utf8.prefix(16)) + [UInt8(ascii: " ")] + line
            if index < lines.count - 1 { text.append(UInt8(ascii: "\n")) }
        }
        return text
    }

    static func look(atEntry line: Data) {
        guard let entry = JournalEntry(decoding: line) else { return }
        require(JournaledTask.identifiers.contains(entry.identifier), "an identifier is one that can be given")
        guard case .task(let record) = entry else { return }
        guard let written = try? entry.encoded(), case .task(let again)? = JournalEntry(decoding: written) else {
            fail("an entry that was read can be written")
        }
        if !record.priority.isNaN { requireSame(again.checked(), record.checked(), "and read again as the same") }
        guard let checked = record.checked() else { return }
        require((0...1).contains(checked.priority), "a priority is between 0 and 1")
        require(checked.partialName.map(PartialFile.isName) ?? true, "a partial file's name is one that is given")
        require(checked.resume?.isSound ?? true, "resume data is sound")
        _ = checked.originalRequest.request
    }
}
