/// A transport of the loop as a program's connector returns one: what is not a socket, or has been read from already.
///
/// Purl calls it from the network thread. A program that does so from another thread gets an error, or is obeyed a little
/// later where a call has no result.
package final class RelayedTransport: Transport {
    private let transport: any LoopTransport
    private let relay: Relay

    /// Takes over a connected transport.
    ///
    /// - Parameter bytes: What has arrived over it already.
    @NetworkActor
    package init(_ transport: any LoopTransport, received bytes: [UInt8] = []) {
        self.transport = transport
        relay = Relay(transport, received: bytes)
    }

    deinit {
        NetworkActor.perform { [transport] in transport.close() }
    }

    package func start(_ signal: TransportSignal) {
        NetworkActor.perform { [relay] in relay.start(signal) }
    }

    package func setInterest(_ interest: TransportInterest) {
        NetworkActor.perform { [transport] in transport.interest = interest }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        // The closure has run when this call returns.
        nonisolated(unsafe) let buffer = buffer
        return try onNetworkThread { try relay.read(into: buffer) }
    }

    package func read(_ count: Int, intoPipe descriptor: Int32) throws -> TransportMove {
        try onNetworkThread { try relay.read(count, intoPipe: descriptor) }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws -> Int {
        nonisolated(unsafe) let bytes = bytes
        return try onNetworkThread { try transport.send(bytes) }
    }

    package func write(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) throws -> Int {
        nonisolated(unsafe) let (first, second) = (first, second)
        return try onNetworkThread { try transport.send(first, second) }
    }

    package func write(_ count: Int, ofFile descriptor: Int32, from offset: Int64) throws -> TransportMove {
        try onNetworkThread { try transport.send(count, ofFile: descriptor, from: offset) }
    }

    package func finishWriting() {
        NetworkActor.perform { [transport] in transport.shutdownWrite() }
    }

    package func close() {
        NetworkActor.perform { [transport] in transport.close() }
    }

    package func reset() {
        NetworkActor.perform { [transport] in transport.reset() }
    }

    package var localAddress: TransportAddress? {
        try? onNetworkThread { transport.localAddress.map { TransportAddress($0) } }
    }

    package var remoteAddress: TransportAddress? {
        try? onNetworkThread { transport.peerAddress.map { TransportAddress($0) } }
    }

    private func onNetworkThread<Value>(_ call: @NetworkActor () throws -> Value) throws -> Value {
        guard NetworkActor.isCurrent else { throw SystemError(code: EPERM, operation: "a call from another thread") }
        return try NetworkActor.assumeIsolated(call)
    }
}

/// What a relayed transport has of the network thread's.
@NetworkActor
private final class Relay: TransportHandler {
    private let transport: any LoopTransport
    /// What had arrived before, and has not been read.
    private var received: ArraySlice<UInt8>
    private var signal: TransportSignal?

    init(_ transport: any LoopTransport, received bytes: [UInt8]) {
        self.transport = transport
        received = bytes[...]
    }

    func start(_ signal: TransportSignal) {
        self.signal = signal
        transport.handler = self
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
        guard !received.isEmpty else { return try transport.receive(into: buffer) }
        let count = min(buffer.count, received.count)
        buffer.copyBytes(from: received.prefix(count))
        received = received.dropFirst(count)
        return count
    }

    func read(_ count: Int, intoPipe descriptor: Int32) throws(SystemError) -> TransportMove {
        received.isEmpty ? try transport.receive(count, intoPipe: descriptor) : .unsupported
    }

    func transportIsReadable(_ transport: any LoopTransport) { signal?.raise(.read) }

    func transportIsWritable(_ transport: any LoopTransport) { signal?.raise(.write) }
}

extension ConnectedTransport {
    /// A connection that was made on the network thread, for a program: the descriptor of its socket where that carries the
    /// connection's bytes.
    @NetworkActor
    package init(_ transport: any LoopTransport) {
        if let descriptor = transport.plainSocket?.releaseDescriptor() {
            self = .descriptor(descriptor)
        } else {
            self = .transport(RelayedTransport(transport))
        }
    }
}
