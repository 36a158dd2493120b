extension BadResponse {
    package static let chunks: [BadResponse] = [
        .chunks("a size of letters", "zz\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size with a prefix", "0x5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a signed size", "+5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank before the size", " 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("a blank in the size", "5 5\r\nhello\r\n0\r\n\r\n"),
        .chunks("no size", "\r\nhello\r\n0\r\n\r\n"),
        .chunks("an extension without a size", ";a=b\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size beyond 63 bits", "8000000000000000\r\nhello"),
        .chunks("a size that wraps around", "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        .chunks("a size of 70 digits", String(repeating: "f", count: 70) + "\r\nhello"),
        .chunks("data longer than its size", "4\r\nhello\r\n0\r\n\r\n"),
        .chunks("data shorter than its size", "6\r\nhello\r\n0\r\n\r\n"),
        .chunks("data without a line end", "5\r\nhello0\r\n\r\n"),
        .chunks("CR after the data without LF", "5\r\nhello\r0\r\n\r\n"),
        .chunks("CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"),
        .chunks("a trailer that is no field", .badServerResponse, "0\r\nX : y\r\n\r\n"),
        .chunks("NUL in an extension", "5;a\u{0}b\r\nhello\r\n0\r\n\r\n"),
    ]

    package static let chunkLimits: [BadResponse] = [
        .chunks(
            "an extension of 5000 bytes", .cannotParseResponse, "5;a=" + String(repeating: "x", count: 5000) + "\r\n"),
        .chunks("a size of 5000 zeros", .cannotParseResponse, String(repeating: "0", count: 5000)),
        .chunks(
            "trailers of 20 000 bytes", .cannotParseResponse,
            "0\r\nX: " + String(repeating: "x", count: 20_000) + "\r\n\r\n"),
        .chunks(
            "300 trailers", .cannotParseResponse, "0\r\n" + (0..<300).map { "X\($0): y\r\n" }.joined() + "\r\n"),
    ]
}
