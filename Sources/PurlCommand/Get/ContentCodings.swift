import Foundation
import Purl
import PurlHTTP

/// What `purl get` makes of content codings (RFC 9110 §8.4).
enum ContentCodings: Equatable {
    /// None is asked for, and a body that has one all the same is saved as it was sent: an archive stays one.
    case kept
    /// `--compressed`: those that can be undone are asked for, and undone.
    case undone

    var content: CodedContent {
        switch self {
        case .kept: .asSent
        case .undone: .decoded
        }
    }

    /// Asks for codings, unless the user does.
    func addFields(to request: inout URLRequest) {
        guard self == .undone, request.value(forHTTPHeaderField: "Accept-Encoding") == nil else { return }
        request.setValue(ContentDecoder.acceptEncoding, forHTTPHeaderField: "Accept-Encoding")
    }

    /// What `-v` says about a response with a coding.
    func remark(on response: URLResponse?) -> String? {
        guard let response = response as? HTTPURLResponse,
            let coding = response.value(forHTTPHeaderField: "Content-Encoding"), coding.lowercased() != "identity"
        else { return nil }
        return switch self {
        case .kept: "Content-Encoding \(coding): saved as sent; --compressed unpacks it"
        case .undone: "Content-Encoding \(coding): unpacked"
        }
    }
}
