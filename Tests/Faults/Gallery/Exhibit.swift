/// A fault of the matrix, with a kind of task that meets it, to be looked at.
package struct Exhibit: Sendable {
    /// The name of its files, without extension.
    package let name: String
    /// What happens, in words.
    package let title: String
    /// What a program should do.
    package let advice: String
    /// The fault and the task.
    package let cell: Cell

    /// - Parameters:
    ///   - group: The fault's group.
    ///   - fault: The fault's name in it.
    private init(
        _ name: String, _ title: String, _ group: String, _ fault: String, _ kind: TaskKind, _ advice: String
    ) {
        guard let found = FaultMatrix.faults.first(where: { $0.group == group && $0.name == fault }) else {
            preconditionFailure("the matrix has no “\(group): \(fault)”")
        }
        self.name = name
        self.title = title
        self.advice = advice
        cell = Cell(fault: found, kind: kind, medium: .memory)
    }

    /// An exhibit with a data task.
    private init(_ name: String, _ title: String, _ group: String, _ fault: String, _ advice: String) {
        self.init(name, title, group, fault, .data, advice)
    }

    // MARK: What a program should do

    private static let again = """
        Try again after a pause that grows with each failure. For a GET that is always allowed; for a POST only if the server can \
        tell that it has the request already.
        """
    private static let resume = """
        The error carries resume data: make the next task from it, and nothing that is on disk is transferred again.
        """
    private static let server = """
        The server, or something between, is broken or hostile: the same request fails again. Show the reason, and do not repeat it \
        by itself.
        """
    private static let address = "Look at the address: the program has asked something that does not speak HTTP."
    private static let user = """
        This is what was wanted: no message, no new attempt. A program that tries again after each error starts what its user has \
        stopped.
        """
    private static let network = """
        Without a user, try again later, or set `waitsForConnectivity`: then the task waits, and the delegate can say so. With a user, \
        say that the server cannot be reached.
        """
    private static let redirects = "Do not follow further: the server's configuration is wrong. Show the last address."
    private static let disk = """
        Say which folder it is and what is wrong with it; to download again does not help before there is room. The POSIX error is \
        underneath.
        """
    private static let content = """
        The bytes before the failure are right, but the end is missing or wrong: use none of them. If it happens again, the server \
        encodes wrongly.
        """

    /// All of them.
    package static let all: [Exhibit] =
        connections + places + messages + contents + redirections + disksAndUploads + users

    private static let connections: [Exhibit] = [
        .init(
            "silent-server", "The server accepts the request and never answers", "stall with a length",
            "before the head",
            again),
        .init(
            "silent-in-head", "The server stops in the middle of the head", "stall with a length",
            "in the middle of the head", again),
        .init(
            "silent-in-body", "A download stops in the middle of its body", "stall with a length",
            "in the middle of the body", .download,
            resume),
        .init(
            "closed-before-head", "The server closes the connection without an answer", "end of stream with a length",
            "before the head", again),
        .init(
            "closed-in-status-line", "The connection ends within the status line", "end of stream with a length",
            "in the status line", again),
        .init(
            "closed-in-body", "The connection ends in the middle of a download", "end of stream with a length",
            "in the middle of the body", .download, resume),
        .init(
            "closed-in-data", "The connection ends in the middle of a body in memory", "end of stream with a length",
            "in the middle of the body", content),
        .init(
            "reset-in-body", "The connection is reset in the middle of a body", "reset with a length",
            "in the middle of the body", again),
        .init(
            "closed-in-chunk", "The connection ends within a chunk", "end of stream in chunks", "in a chunk", content),
        .init(
            "closed-before-last-chunk", "All content is there, and the last chunk is missing",
            "end of stream in chunks", "in the trailers", content),
        .init(
            "closed-after-interim", "Only an interim response arrives", "end of stream after an interim response",
            "before the head", again),
        .init(
            "closed-upload", "An upload is not answered", "end of stream with a length", "before the head", .upload,
            again),
    ]

    private static let places: [Exhibit] = [
        .init("no-such-name", "The host does not exist", "name", "that does not exist", network),
        .init("names-unavailable", "The name server cannot be asked", "name", "that cannot be asked for", network),
        .init("names-silent", "The name server never answers", "name", "without an answer", network),
        .init("refused", "Nobody listens at the address", "address", "that refuses connections", network),
        .init(
            "refused-while-waiting", "Nobody listens, and the task may wait", "address",
            "that refuses connections, and the user waits",
            "The task has waited as long as `timeoutIntervalForResource` allows. Offer to try again."),
        .init(
            "proxy-unreachable", "The proxy cannot be reached", "proxy", "that cannot be reached",
            "Speak of the proxy, not of the server: the setting is wrong, or the network is another one."),
    ]

    private static let messages: [Exhibit] = [
        .init("not-http", "A page without a head", "status line", "no HTTP at all", address),
        .init(
            "another-protocol", "The greeting of another protocol", "status line", "another protocol's greeting",
            address),
        .init(
            "tls-alert", "A server that expects TLS", "status line", "a TLS alert",
            "Use the server's `https` address, with a TLS provider."),
        .init(
            "http2", "A server that speaks HTTP/2 at once", "status line",
            "an HTTP/2 frame of settings, which has no line break", address),
        .init(
            "smuggled-field", "A field that hides behind a bare CR", "field line", "CR that would smuggle a field",
            server),
        .init("blank-before-colon", "A blank before a field's colon", "field line", "a blank before the colon", server),
        .init("large-field", "A field of 70,000 bytes", "limit", "a field of 70 000 bytes", server),
        .init("many-fields", "Three hundred fields", "limit", "300 fields", server),
        .init("endless-line", "A line that never ends", "limit", "a line that never ends", server),
        .init("interim-flood", "A hundred and one interim responses", "limit", "101 interim responses", server),
        .init("two-lengths", "Two lengths that differ", "framing", "two lengths that differ", server),
        .init("length-and-chunked", "A length together with chunks", "framing", "length together with chunked", server),
        .init("negative-length", "A negative length", "framing", "a negative length", server),
        .init(
            "unasked-switch", "A switch of protocols that was not asked for", "framing",
            "an unasked switch of protocols", server),
    ]

    private static let contents: [Exhibit] = [
        .init("chunk-of-letters", "A chunk whose size is not a number", "chunk", "a size of letters", server),
        .init("chunk-that-wraps", "A chunk whose size would wrap around", "chunk", "a size that wraps around", server),
        .init("chunk-too-long", "A chunk with more data than its size", "chunk", "data longer than its size", server),
        .init("damaged-gzip", "Compressed content that is damaged", "coding", "gzip, damaged in the middle", content),
        .init(
            "cut-gzip", "Compressed content that ends too early", "coding", "gzip, cut off, in a message that is whole",
            content),
        .init(
            "not-gzip", "Content that is not compressed as it claims to be", "coding", "gzip, that it is not in",
            content),
    ]

    private static let redirections: [Exhibit] = [
        .init("redirect-to-itself", "A redirect to itself", "redirect", "to itself", redirects),
        .init("redirect-in-circle", "Two redirects in a circle", "redirect", "in a circle", redirects),
        .init("redirect-to-nowhere", "A redirect to nowhere", "redirect", "to “http://”", redirects),
        .init(
            "redirect-to-file", "A redirect to a file of this machine", "redirect", "to “file:///etc/passwd”",
            "Nothing: Purl follows no redirect out of HTTP. A server that tries is not to be trusted."),
        .init(
            "redirect-to-https", "A redirect to https, without a TLS provider", "redirect", "to “https://host.test/x”",
            "Set `tlsProvider`: the server insists on TLS."),
    ]

    private static let disksAndUploads: [Exhibit] = [
        .init(
            "disk-full", "The disk becomes full in the middle of a download", "disk", "that is full in the middle",
            .download, disk),
        .init(
            "no-permission", "The folder of downloads may not be written", "disk", "where nothing can be made",
            .download, disk),
        .init(
            "disk-damaged", "The disk fails in the middle of a download", "disk", "that fails in the middle", .download,
            disk),
        .init(
            "upload-file-gone", "The file of an upload is gone", "upload", "of a file that is gone", .uploadFile,
            "Make the file again, or ask for another one: nothing was sent."),
        .init(
            "upload-of-folder", "A folder in place of a file", "upload", "of a folder", .uploadFile,
            "Make an archive of the folder first: an upload sends one file."),
        .init(
            "upload-not-taken", "A server that takes nothing of an upload", "upload", "of which nothing is taken",
            .upload, again),
    ]

    private static let users: [Exhibit] = [
        .init(
            "cancelled", "The task is cancelled in the middle of its body", "user", "cancel, in the middle of the body",
            user),
        .init(
            "paused", "A download is cancelled for resume data", "user",
            "cancel for resume data, in the middle of the body", .download,
            "Keep what the handler receives: the next task is made from it."),
        .init(
            "invalidated", "The session is invalidated and cancelled", "user",
            "invalidate and cancel, in the middle of the body", user),
    ]
}
