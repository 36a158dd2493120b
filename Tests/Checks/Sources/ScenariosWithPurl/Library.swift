import Foundation

// What differs between the two programs that are built from this folder.
#if PURL
    @_exported import Purl

    /// Stores a property in a request, for protocols.
    func keep(_ text: String, forKey key: String, in request: inout URLRequest) {
        URLProtocol.setProperty(text, forKey: key, in: &request)
    }

    func keepNothing(forKey key: String, in request: inout URLRequest) {
        URLProtocol.removeProperty(forKey: key, in: &request)
    }
#else
    @_exported import FoundationNetworking

    /// Stores a property in a request, for protocols, by way of `NSMutableURLRequest`.
    func keep(_ text: String, forKey key: String, in request: inout URLRequest) {
        change(&request) { URLProtocol.setProperty(text, forKey: key, in: $0) }
    }

    func keepNothing(forKey key: String, in request: inout URLRequest) {
        change(&request) { URLProtocol.removeProperty(forKey: key, in: $0) }
    }

    private func change(_ request: inout URLRequest, _ change: (NSMutableURLRequest) -> Void) {
        guard let twin = request._bridgeToObjectiveC().mutableCopy() as? NSMutableURLRequest else { return }
        change(twin)
        request = URLRequest._unconditionallyBridgeFromObjectiveC(twin)
    }
#endif
