import Foundation
import Purl
import PurlTLS

// swift run TLS URL [PIN]
let arguments = CommandLine.arguments.dropFirst()
guard let url = arguments.first.flatMap({ URL(string: $0) }) else {
    print("usage: TLS https://HOST/PATH [sha256//PIN]")
    exit(64)
}

var options = SystemTLS.Options()
// With a pin, a certificate that is right in all else is not enough: the key has to be this one.
if let text = arguments.dropFirst().first {
    guard let pin = PublicKeyPin(text) else {
        print("“\(text)” is not a pin: it begins with sha256// and has a digest of 32 bytes in base64")
        exit(64)
    }
    options.pins = [pin]
}
let tls = SystemTLS(options)
do {
    // Says now what the first connection would: that OpenSSL is missing, or the certificates of the roots.
    try tls.prepare()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.tlsProvider = tls
    let session = URLSession(configuration: configuration, delegate: AskingDelegate(), delegateQueue: nil)
    let (data, response) = try await session.data(from: url)
    print("\((response as? HTTPURLResponse)?.statusCode ?? 0), \(data.count) bytes")
} catch let error as TLSError {
    print("failed: \(error)")
    exit(1)
} catch {
    print("failed: \((error as NSError).localizedFailureReason ?? error.localizedDescription)")
    exit(1)
}
