import Foundation
import PurlHTTP
import PurlIO

@testable import Purl

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

    /// `data:` URLs, and the files' names that any URL and `Content-Disposition` come to.
    static let dataURLs = FuzzTarget("data-urls") { bytes in
        var choices = Choices(bytes)
        let kind = choices.number(below: 3)
        let rest = choices.remainder()
        let text = String(decoding: rest, as: UTF8.self)
        switch kind {
        case 0:
            guard let url = URL(string: "data:" + text), DataURL.matches(url), let read = try? DataURL(url) else {
                return
            }
            requireSame(read.response.expectedContentLength, Int64(read.content.count), "its length is known")
        case 1:
            // Any bytes can be written in either way.
            let coded = Data(rest).base64EncodedString()
            let percent = rest.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            for text in ["data:;base64," + coded, "data:text/plain," + percent] {
                guard let url = URL(string: text) else { continue }
                requireSame((try? DataURL(url))?.content, Data(rest), "bytes come back")
            }
        default:
            let name = SuggestedFilename.choose(contentDisposition: text, url: URL(string: text))
            require(!name.isEmpty && name.utf8.count <= 255, "a name has a possible length")
            require(!name.contains("/") && !name.contains("\\") && name != "." && name != "..", "it is one component")
            require(name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "and holds no controls")
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

private enum Proxies {
    /// A name that is nothing else: no star, no colon, no blanks.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
