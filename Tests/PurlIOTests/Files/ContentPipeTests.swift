import Testing

@testable import PurlIO

#if os(Linux)
    @Suite("A content pipe moves bytes from a socket into a file")
    @NetworkActor struct ContentPipeTests {
        private let loop = PollerKind.native.makeLoop()
        private let file = ScratchFile()

        @Test func bytesArriveInTheirOrderAtTheirPlace() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            try near.send("onetwothree")
            #expect(try pipe.fill(from: far, limit: 6) == .moved(6))
            try pipe.empty(6, into: file.descriptor, at: 4)
            #expect(try pipe.fill(from: far, limit: 100) == .moved(5))
            try pipe.empty(5, into: file.descriptor, at: 10)
            #expect(file.content == "\0\0\0\0onetwothree")
        }

        @Test func anEmptySocketIsNotTheEndOfTheStream() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            #expect(try pipe.fill(from: far, limit: 100) == .notNow)
            near.shutdownWrite()
            #expect(try pipe.fill(from: far, limit: 100) == .end)
        }

        @Test func aFullPipeTakesNoMore() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            let piece = String(repeating: "x", count: 60_000)
            var moved = 0
            var wasFull = false
            while !wasFull {
                try near.send(piece)
                switch try pipe.fill(from: far, limit: .max) {
                case .moved(let count): moved += count
                case .notNow: wasFull = true
                case .end, .unsupported: throw SystemError(code: EIO, operation: "splice")
                }
            }
            try pipe.empty(moved, into: file.descriptor, at: 0)
            #expect(file.content.utf8.count == moved)
            #expect(try pipe.fill(from: far, limit: 1) == .moved(1))
        }

        @Test func bytesAreCopiedIntoAFileOpenedForAppending() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            file.write("before ")
            try near.send("after")
            #expect(try pipe.fill(from: far, limit: 100) == .moved(5))
            let appending = try file.openForAppending()
            try pipe.empty(5, into: appending.rawValue, at: 7)
            #expect(file.content == "before after")
        }

        @Test func aFullDiskIsAnError() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            try near.send("lost")
            #expect(try pipe.fill(from: far, limit: 100) == .moved(4))
            let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
            defer { close(full) }
            let error = #expect(throws: SystemError.self) { try pipe.empty(4, into: full, at: 0) }
            #expect(error?.code == ENOSPC)
        }

        @Test func whatIsInThePipeCanBeTakenAsBytes() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            let pipe = try ContentPipe()
            try near.send("hello")
            #expect(try pipe.fill(from: far, limit: 100) == .moved(5))
            #expect(try pipe.bytes(4) == Array("hell".utf8))
            #expect(try pipe.bytes(1) == Array("o".utf8))
        }
    }

    @Suite("A socket sends bytes of a file")
    @NetworkActor struct FileSendingTests {
        private let loop = PollerKind.native.makeLoop()
        private let file = ScratchFile()

        /// How the bytes come from the file to the socket.
        enum Way: CaseIterable {
            case pages, copy

            var systemCall: String {
                switch self {
                case .pages: "sendfile"
                case .copy: "send"
                }
            }
        }

        @Test(arguments: Way.allCases)
        func bytesAreSentFromAnyOffsetUpToTheEndOfTheFile(_ way: Way) throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            file.write("onetwothree")
            #expect(try send(3, from: 3, by: way, through: near) == 3)
            #expect(try far.receive() == "two")
            #expect(try send(100, from: 6, by: way, through: near) == 5)
            #expect(try far.receive() == "three")
            #expect(try send(100, from: 11, by: way, through: near) == nil)
        }

        @Test(arguments: Way.allCases)
        func aFullSocketTakesAPartThenNothing(_ way: Way) throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            file.write(String(repeating: "x", count: 4_000_000))
            var sent = 0
            while let count = try send(4_000_000 - sent, from: sent, by: way, through: near), count > 0 {
                sent += count
            }
            #expect(sent > 0 && sent < 4_000_000)
            #expect(try far.receive()?.isEmpty == false)
            #expect(try send(1, from: 0, by: way, through: near) == 1)
        }

        @Test(arguments: Way.allCases)
        func sendingToAClosedSocketIsAnErrorAndNotASignal(_ way: Way) throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            file.write("x")
            far.close()
            #expect(throws: SystemError(code: EPIPE, operation: way.systemCall)) {
                try untilClosed { () -> Void? in
                    _ = try send(1, from: 0, by: way, through: near)
                    return nil
                }
            }
        }

        /// What was received may still be parsed while the answer to it is sent.
        @Test func aCopyLeavesReceivedBytesAlone() throws {
            let (near, far) = try StreamSocket.pair(loop: loop)
            file.write("from a file")
            try far.send("from a peer")
            let received: UnsafeRawBufferPointer? = try near.receive(atMost: 100)
            #expect(try send(11, from: 0, by: .copy, through: near) == 11)
            #expect(received.map { String(decoding: $0, as: UTF8.self) } == "from a peer")
        }

        private func send(
            _ count: Int, from offset: Int, by way: Way, through socket: StreamSocket
        ) throws(SystemError) -> Int? {
            switch way {
            case .pages: try socket.sendPages(count, of: file.descriptor, from: Int64(offset))
            case .copy: try socket.sendCopy(count, of: file.descriptor, from: Int64(offset))
            }
        }
    }

    /// A file without a name.
    private final class ScratchFile {
        let descriptor: Int32

        init() {
            var template = Array("/tmp/purl-io-XXXXXX".utf8CString)
            descriptor = mkstemp(&template)
            unlink(template)
        }

        deinit { close(descriptor) }

        /// The same file, opened anew.
        func openForAppending() throws -> Descriptor {
            try Descriptor(checking: open("/proc/self/fd/\(descriptor)", O_WRONLY | O_APPEND | O_CLOEXEC), "open")
        }

        func write(_ text: String) {
            let bytes = Array(text.utf8)
            #expect(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
        }

        var content: String {
            var status = stat()
            fstat(descriptor, &status)
            var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
            #expect(pread(descriptor, &bytes, bytes.count, 0) == bytes.count)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
