import Foundation
import PurlHTTP
import PurlIO

@testable import Purl
@testable import PurlConnections

extension FuzzTarget {
    /// URLs: what goes on the wire for them breaks no line, and two that are the same have one key.
    static let urls = FuzzTarget("urls") { bytes in
        guard let url = URL(string: String(decoding: bytes, as: UTF8.self)) else { return }
        let key = CacheKey(url)
        if let again = URL(string: key.url) { requireSame(CacheKey(again), key, "a key's URL has that key") }
        _ = CookieURL(url)
        guard let target = try? TargetURI(url) else { return }
        require(target.originForm.hasPrefix("/"), "a target begins with a slash")
        var fields = HeaderFields()
        fields.append(.host, target.hostField)
        for form in [target.originForm, target.absoluteForm] {
            var written: [UInt8] = []
            // Refused, or one line that is read as what it is.
            guard (try? RequestHead(method: "GET", target: form, fields: fields).encode(into: &written)) != nil else {
                continue
            }
            var parser = RequestHeadParser()
            var offset = 0
            let head = try? parser.parse(written.span.bytes, from: &offset)
            requireSame(head?.target, form, "a target is read as it was written")
            requireSame(head?.fields[.host], FieldText.value(Array(target.hostField.utf8)), "so is the host")
            requireSame(offset, written.count, "and nothing is behind them")
        }
    }

    /// `data:` URLs.
    static let dataURLs = FuzzTarget("data-urls") { bytes in
        var choices = Choices(bytes)
        let isURL = choices.flag()
        let rest = choices.remainder()
        let text = String(decoding: rest, as: UTF8.self)
        if isURL {
            guard let url = URL(string: "data:" + text), DataURL.matches(url), let read = try? DataURL(url) else {
                return
            }
            requireSame(read.response.expectedContentLength, Int64(read.content.count), "its length is known")
        } else {
            // Any bytes can be written in either way.
            let coded = Data(rest).base64EncodedString()
            let percent = rest.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            for text in ["data:;base64," + coded, "data:text/plain," + percent] {
                guard let url = URL(string: text) else { continue }
                requireSame((try? DataURL(url))?.content, Data(rest), "bytes come back")
            }
        }
    }

    /// Names of files: that any text comes to, and those that a URL and `Content-Disposition` suggest.
    static let fileNames = FuzzTarget("file-names") { bytes in
        var choices = Choices(bytes)
        let limit = 64 + choices.number(below: 192)
        let suffixes = choices.flag() ? [".part", ".resume", ".resume.new"] : []
        let text = String(decoding: choices.remainder(), as: UTF8.self)
        if let name = SafeFilename.make(from: text, maximumLength: limit, reservedSuffixes: suffixes) {
            FileNames.requireSafe(name, maximumLength: limit)
            require(!SafeFilename.hasSuffix(suffixes, name), "a reserved suffix is never last")
            for suffix in suffixes { require(!name.lowercased().utf8.elementsEqual(suffix.utf8), "nor alone") }
            let again = SafeFilename.make(from: name, maximumLength: limit, reservedSuffixes: suffixes)
            require(again?.utf8.elementsEqual(name.utf8) == true, "a safe name stays as it is")
        }
        let suggested = SuggestedFilename.choose(contentDisposition: text, url: URL(string: text))
        FileNames.requireSafe(suggested, maximumLength: SafeFilename.maximumLength)
        let shown = URLPassword.hidden(in: text)
        require(URLPassword.hidden(in: shown).utf8.elementsEqual(shown.utf8), "a hidden password stays hidden")
        if let url = URL(string: text), let password = url.password(percentEncoded: true), !password.isEmpty {
            requireSame(
                URL(string: url.shownText)?.password(percentEncoded: false) ?? URLPassword.placeholder,
                URLPassword.placeholder, "a URL is shown without its password")
        }
    }

    /// Proxies: of a configuration's dictionary, of the environment, and the hosts and addresses that go without.
    static let proxies = FuzzTarget("proxies") { bytes in
        var choices = Choices(bytes)
        let text = choices.line()
        let port = choices.flag() ? Int(clamping: choices.integer()) : nil
        if let proxy = try? HTTPProxy(text, port: port) {
            guard case .host(let host, _) = proxy.endpoint else { fail("a proxy is a host") }
            require(!host.isEmpty, "with a name")
        }
        let patterns = choices.line()
        let host = choices.line()
        let seen = ProxyRules.Host(host, port: 80)
        if let address = seen.address {
            require(AddressRange(host)?.contains(address) ?? true, "an address lies in itself")
        }
        for part in patterns.split(separator: ",") {
            guard let pattern = HostPattern(part) else { continue }
            _ = pattern.matches(seen)
        }
        if let own = HostPattern(host), seen.address == nil, Proxies.isName(host) {
            require(own.matches(seen), "a name matches itself: \(host.debugDescription)")
        }
        let dictionary = ProxyDictionary([
            kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: text,
            kCFNetworkProxiesHTTPPort: choices.flag() ? port ?? 80 : choices.line(),
            kCFNetworkProxiesExceptionsList: patterns, kCFNetworkProxiesExcludeSimpleHostnames: choices.flag(),
        ])
        let rules = [
            ProxyRules(dictionary), ProxyRules(environment: ["http_proxy": text, "no_proxy": patterns]),
        ]
        guard let url = URL(string: "http://\(host)/"), let target = try? TargetURI(url) else { return }
        for rule in rules { _ = try? rule.proxy(for: target) }
    }
}

private enum FileNames {
    /// Bytes and scalars are looked at: as characters, a slash with a combining mark is none.
    static func requireSafe(_ name: String, maximumLength: Int) {
        require(!name.isEmpty && name.utf8.count <= maximumLength, "a name has a possible length")
        let separators = [UInt8(ascii: "/"), UInt8(ascii: "\\")]
        require(!name.utf8.contains(where: separators.contains), "it is one component")
        require(![UInt8(ascii: "."), UInt8(ascii: "-")].contains(name.utf8.first), "neither hidden nor an option")
        for scalar in name.unicodeScalars where scalar != "\u{200C}" && scalar != "\u{200D}" {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: fail("it holds \(scalar.value)")
            default: break
            }
        }
    }
}

private enum Proxies {
    /// A name that is nothing else: no star, no colon, no blanks.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
