@testable import PurlIO

/// A pipe whose ends can be closed one by one.
struct Pipe: ~Copyable {
    var reader: Descriptor
    var writer: Descriptor

    init() {
        var ends: [Int32] = [-1, -1]
        pipe(&ends)
        reader = Descriptor(owning: ends[0])
        writer = Descriptor(owning: ends[1])
    }

    func put(_ text: String) {
        _ = write(writer.rawValue, text, text.utf8.count)
    }
}
