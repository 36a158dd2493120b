internal import PurlIO

/// Memory that the secure transports of a network thread use one after another, each within one call.
///
/// A simulated process has a network thread of its own, and so memory of its own.
final class SecureBuffers: Sendable {
    private static let ofProcess = ProcessLocal { SecureBuffers() }

    @NetworkActor static var current: SecureBuffers { ofProcess.current }

    /// What the system calls read records into, before the library takes them.
    let arrival = Buffer(byteCount: 65_536)
    /// What a transport is asked for whether it is quiet reads content into, which its owner has not asked for.
    let preview = Buffer(byteCount: 4096)
    /// Records on their way out. Those of 64 KiB of content go out in one call: each adds some bytes to its content.
    let departure = Buffer(byteCount: 65_536 + 1024)

    final class Buffer: Sendable {
        // The network thread's alone.
        private nonisolated(unsafe) let memory: UnsafeMutableRawBufferPointer

        @NetworkActor var bytes: UnsafeMutableRawBufferPointer { memory }

        init(byteCount: Int) {
            memory = .allocate(byteCount: byteCount, alignment: 64)
        }

        deinit {
            memory.deallocate()
        }
    }
}
