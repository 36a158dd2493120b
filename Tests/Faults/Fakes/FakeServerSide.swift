internal import Foundation
internal import Purl
internal import PurlIO
internal import PurlSimulation
import Synchronization

/// Puts the server's side of the fake security layer on the connections of another connector, unless they are meant to
/// be in the open.
struct FakeConnector: Connector {
    let base: any Connector

    func connect(_ request: ConnectionRequest) async throws -> ConnectedTransport {
        let connected = try await base.connect(request)
        guard request.scheme != "http", case .transport(let transport) = connected else { return connected }
        return .transport(FakeServerSide(transport))
    }
}

/// The server's side of the fake security layer, at the client's end of a connection within the process: the client
/// exchanges records with it, and the server content.
final class FakeServerSide: PurlIO.Transport {
    private enum Phase {
        case waitingForHello
        case open
        /// The server has ended its stream, which `close_notify` tells the client.
        case ended
    }

    private struct State {
        var signal: TransportSignal?
        var phase = Phase.waitingForHello
        var reader = FakeReader()
        /// Records that the client has not read.
        var records: ArraySlice<UInt8> = []
        /// Content that the server had no room for.
        var content: ArraySlice<UInt8> = []
        /// The client has sent `close_notify`, and what it has sent before is on its way to the server.
        var endsSoon = false
    }

    private let server: any PurlIO.Transport
    private let state = Mutex(State())

    /// - Parameter server: The way to the server, not started.
    init(_ server: any PurlIO.Transport) {
        self.server = server
    }

    func start(_ signal: TransportSignal) {
        state.withLock { $0.signal = signal }
        server.start(
            TransportSignal { [weak self] events in
                if events.contains(.write) { self?.roomHasCome() }
                signal.raise(events)
            })
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        try state.withLock { state in
            if state.records.isEmpty {
                switch state.phase {
                case .waitingForHello: return nil
                case .ended: return 0
                case .open: break
                }
                var content = [UInt8](repeating: 0, count: 16_384)
                guard let count = try content.withUnsafeMutableBytes({ try server.read(into: $0) }) else { return nil }
                if count == 0 { state.phase = .ended }
                state.records = FakeRecord.encode(count == 0 ? .closeNotify : .content, content[..<count])[...]
            }
            let count = min(buffer.count, state.records.count)
            buffer.copyBytes(from: state.records.prefix(count))
            state.records = state.records.dropFirst(count)
            return count
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        let (count, signal) = try state.withLock { state -> (Int, TransportSignal?) in
            guard state.content.isEmpty else { return (0, nil) }
            let wasWaiting = state.phase == .waitingForHello
            state.reader.append(bytes)
            while let (kind, bytes) = try state.reader.next() {
                switch kind {
                case .clientHello:
                    state.phase = .open
                    state.records += FakeRecord.encode(.serverHello, Array("certificate".utf8))
                case .content: state.content += bytes
                case .closeNotify: state.endsSoon = true
                case .serverHello, .alert, .ticket, .keyRequest, .newKey: break
                }
            }
            try pass(&state)
            return (bytes.count, wasWaiting ? state.signal : nil)
        }
        // The hello was answered.
        signal?.raise(.read)
        return count
    }

    private func roomHasCome() {
        // An error comes again at the client's next call.
        state.withLock { try? pass(&$0) }
    }

    /// Gives the server as much content as it has room for, and then the end.
    private func pass(_ state: inout State) throws {
        while !state.content.isEmpty {
            let count = try state.content.withUnsafeBytes { try server.write($0) }
            if count == 0 { return }
            state.content = state.content.dropFirst(count)
        }
        guard state.endsSoon else { return }
        state.endsSoon = false
        server.finishWriting()
    }

    /// The client's `close_notify` has gone before.
    func finishWriting() {}

    func close() { server.close() }

    func reset() { server.reset() }
}
