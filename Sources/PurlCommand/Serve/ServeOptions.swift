/// The arguments of `purl serve`.
enum ServeOptions: Equatable {
    /// Print the names of the ready scripts.
    case list
    /// Print a ready script.
    case show(String)
    /// Serve a script: a file, or the name of a ready one.
    case serve(String, port: UInt16, log: String?, Scheme = .http)

    /// How clients reach the server.
    enum Scheme: Equatable {
        case http, https
    }

    /// What the options set.
    private struct Values {
        var port: UInt16 = 0
        var log: String?
        var shown: String?
        var lists = false
        var scheme = Scheme.http
    }

    private init(_ words: ParsedWords<Values>) throws(UsageError) {
        let values = try words.applied(to: Values())
        let script = try words.operand("script")
        if values.lists {
            self = .list
        } else if let shown = values.shown {
            self = .show(shown)
        } else if let script {
            self = .serve(script, port: values.port, log: values.log, values.scheme)
        } else {
            throw words.error("The script is missing: a file, or the name of one that “--list” prints.")
        }
    }

    private static func port(_ text: String) throws(BadValue) -> UInt16 {
        UInt16(try OptionValue.number(in: 0...Int(UInt16.max))(text))
    }

    private static var rows: [OptionRow<Values>] {
        [
            .value("--port", "N", \.port, port, "listen on port N instead of a free one"),
            .value("--log", "FILE", \.log, OptionValue.text, "append the access log to FILE instead of printing it"),
            .flag(
                "--tls", \.scheme, .https,
                """
                serve https, with a certificate of a new authority. Its root is in a file whose name is printed, for
                --cacert, and removed at the end
                """),
            .flag("--list", \.lists, true, "print the ready scripts"),
            .value(
                "--show", "NAME", \.shown, OptionValue.text, not: "--list",
                "print a ready script, to begin one of your own"),
        ]
    }

    static var syntax: CommandSyntax<ServeOptions> {
        CommandSyntax(
            "serve", "[SCRIPT]", "serve files as a script says, with faults, to test any client",
            text: """
                Serves HTTP on 127.0.0.1 as SCRIPT says, until Ctrl-C: content, validators, ranges, and what goes wrong with
                which request. SCRIPT is a file, or the name of a ready script.
                """,
            rows: rows,
            notes: """
                A script has a line for each thing it sets. What follows a route is about that route:

                  # a comment is a line of its own
                  route /file
                    generated 8M seed 1
                    etag "v1"
                    1: cut after 2M
                    2-: ranges ignored

                  content     generated SIZE [seed N], text TEXT, file PATH
                  validators  etag TAG, modified DATE, conditions ignored,
                              if-range ignored|refused
                  ranges      ranges ignored|refused|multipart,
                              range shifted|shortened|lengthened SIZE, content-range …
                  head        status N, field NAME: VALUE, set NAME: VALUE, remove NAME,
                              redirect URL
                  delivery    rate SIZE, length +SIZE, chunked, until-close
                  faults      cut, reset, stall, pause 2s; each with where: after SIZE,
                              before head, in head, in middle, before end, at random
                  uploads     uploads [VERSION]…, upload-limit NAME SIZE,
                              upload-fault cut at SIZE …

                Before a “:” stands which requests a line is for: 1, 2-4, 3-, every 2, chance 30%; “ranged” or “plain”
                before it counts only those with a Range, or without. The page “Server scripts” of PurlTesting's
                documentation has the whole grammar.

                The log has a JSON object in each line: the first names the URLs, and with --tls the file of the root, each
                other one is a request with its
                fields, the response's status and fields, the bytes of body sent, and how the response ended.

                Exit status: 0 ended by Ctrl-C, 1 the script is wrong or the port is taken, 2 usage.
                """
        ) { words throws(UsageError) in try ServeOptions(words) }
    }
}
