import Foundation
internal import PurlOpenSSL

/// The records that have arrived at a connection and those that are to be sent, for a BIO of OpenSSL's that reads and writes
/// them without a copy of its own.
final class CiphertextBuffers {
    private var incoming = ByteQueue()
    private var outgoing = ByteQueue()
    /// The bytes that are to be sent without content of the caller's, since there were none to be sent at all.
    private var answers = 0
    private var isWritingContent = false
    /// The other side asks for answers, and does not read them. They are dropped, and the connection is of no use any more.
    private(set) var isFlooded = false

    /// Far more than a handshake needs.
    private static let answerLimit = 1 << 20

    func receive(_ bytes: UnsafeRawBufferPointer) { incoming.append(bytes) }

    /// All that has arrived was read.
    var isRead: Bool { incoming.isEmpty }

    /// Makes room for the records of so many bytes of content, and calls `body`, which writes them.
    func writeContent<Result>(_ count: Int, _ body: () -> Result) -> Result {
        outgoing.makeRoom(for: count + 22 * (count / 16_384 + 1) + 64)
        isWritingContent = true
        defer { isWritingContent = false }
        return body()
    }

    /// Takes records that are to be sent.
    func send(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = outgoing.take(into: buffer)
        if outgoing.isEmpty { answers = 0 }
        return count
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        if !isWritingContent { answers += bytes.count }
        isFlooded = isFlooded || answers > Self.answerLimit
        if !isFlooded { outgoing.append(bytes) }
    }

    /// A BIO over these buffers, which must outlive it.
    func makeBIO(_ openSSL: OpenSSL) -> OpaquePointer? {
        guard let bio = openSSL.BIO_new(openSSL.ciphertextMethod) else { return nil }
        openSSL.BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        openSSL.BIO_set_init(bio, 1)
        return bio
    }

    private static func of(_ bio: OpaquePointer?, _ openSSL: OpenSSL) -> CiphertextBuffers? {
        openSSL.BIO_get_data(bio).map { Unmanaged<CiphertextBuffers>.fromOpaque($0).takeUnretainedValue() }
    }

    /// What OpenSSL calls for such a BIO.
    static func makeMethod(_ library: OpenSSLLibrary) throws(OpenSSLUnavailable) -> OpaquePointer {
        typealias Read =
            @convention(c) (OpaquePointer?, UnsafeMutableRawPointer?, Int, UnsafeMutablePointer<Int>?) -> Int32
        typealias Write = @convention(c) (OpaquePointer?, UnsafeRawPointer?, Int, UnsafeMutablePointer<Int>?) -> Int32
        typealias Control = @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int
        let read: Read = { bio, target, size, count in
            let openSSL = OpenSSL.loaded
            // BIO_FLAGS_READ and BIO_FLAGS_SHOULD_RETRY: nothing has arrived, but may.
            openSSL.BIO_clear_flags(bio, 0x0F)
            let buffer = UnsafeMutableRawBufferPointer(start: target, count: size)
            guard let taken = CiphertextBuffers.of(bio, openSSL)?.incoming.take(into: buffer), taken > 0 else {
                openSSL.BIO_set_flags(bio, 0x09)
                return 0
            }
            count?.pointee = taken
            return 1
        }
        let write: Write = { bio, bytes, size, count in
            guard let buffers = CiphertextBuffers.of(bio, OpenSSL.loaded) else { return 0 }
            buffers.append(UnsafeRawBufferPointer(start: bytes, count: size))
            count?.pointee = size
            return 1
        }
        // Only a flush (BIO_CTRL_FLUSH) has to succeed.
        let control: Control = { _, command, _, _ in command == 11 ? 1 : 0 }

        let newIndex = try library.function("BIO_get_new_index", (@convention(c) () -> Int32).self)
        let new = try library.function(
            "BIO_meth_new", (@convention(c) (Int32, UnsafePointer<CChar>) -> OpaquePointer?).self)
        let setRead = try library.function(
            "BIO_meth_set_read_ex", (@convention(c) (OpaquePointer?, Read) -> Int32).self)
        let setWrite = try library.function(
            "BIO_meth_set_write_ex", (@convention(c) (OpaquePointer?, Write) -> Int32).self)
        let setControl = try library.function(
            "BIO_meth_set_ctrl", (@convention(c) (OpaquePointer?, Control) -> Int32).self)
        // BIO_TYPE_SOURCE_SINK. OpenSSL copies the name.
        guard let method = new(newIndex() | 0x400, "Purl"), setRead(method, read) == 1, setWrite(method, write) == 1,
            setControl(method, control) == 1
        else { throw OpenSSLUnavailable(finding: "OpenSSL \(library.version) is out of memory") }
        return method
    }
}

/// Bytes that are taken in the order in which they were appended. It holds no memory while it is empty, so that idle
/// connections need none.
private struct ByteQueue: ~Copyable {
    private var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var start = 0
    private var end = 0

    deinit {
        storage.deallocate()
    }

    var isEmpty: Bool { start == end }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
        makeRoom(for: bytes.count)
        (storage.baseAddress! + end).copyMemory(from: source, byteCount: bytes.count)
        end += bytes.count
    }

    /// Takes up to the size of `buffer`; returns how many there were.
    mutating func take(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, end - start)
        guard count > 0 else { return 0 }
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<start + count]))
        start += count
        if start == end {
            storage.deallocate()
            storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
            (start, end) = (0, 0)
        }
        return count
    }

    mutating func makeRoom(for count: Int) {
        guard storage.count - end < count else { return }
        let held = end - start
        let needed = held + count
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: held == 0 ? needed : max(needed, 2 * storage.count), alignment: 16)
        if held > 0 { larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[start..<end])) }
        storage.deallocate()
        storage = larger
        (start, end) = (0, held)
    }
}
