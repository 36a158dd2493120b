// What the page and the command call. Addresses are those of the linear memory. Which of the functions a module exports the
// linker is told, and what these do not need is left out of it.

/// Room for `count` bytes; the caller writes the input there.
@_cdecl("laboratory_allocate")
public func allocate(_ count: Int32) -> UnsafeMutableRawPointer {
    UnsafeMutableRawPointer.allocate(byteCount: max(1, Int(count)), alignment: 8)
}

@_cdecl("laboratory_release")
public func release(_ address: UnsafeMutableRawPointer) {
    address.deallocate()
}

/// The verdict on a message, ``MessageVerdict``, of `count` bytes at `input`: its length in four bytes, the lowest first, and
/// its text. The caller releases it.
@_cdecl("laboratory_message")
public func message(_ input: UnsafeRawPointer, _ count: Int32) -> UnsafeMutableRawPointer {
    var transcript = Transcript()
    MessageVerdict.write(Array(UnsafeRawBufferPointer(start: input, count: Int(count))), to: &transcript)
    return result(transcript.bytes)
}

/// The verdicts on ``Records``, likewise.
@_cdecl("laboratory_verdicts")
public func verdicts(_ input: UnsafeRawPointer, _ count: Int32) -> UnsafeMutableRawPointer {
    result(Records.verdicts(on: Array(UnsafeRawBufferPointer(start: input, count: Int(count)))))
}

private func result(_ text: [UInt8]) -> UnsafeMutableRawPointer {
    let address = allocate(Int32(4 + text.count))
    let size = UInt32(text.count)
    for place in 0..<4 {
        address.storeBytes(
            of: UInt8(truncatingIfNeeded: size >> UInt32(8 * place)), toByteOffset: place, as: UInt8.self)
    }
    text.withUnsafeBytes {
        (address + 4).copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(address), byteCount: $0.count)
    }
    return address
}
