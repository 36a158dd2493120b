/// The arguments of `purl serve`.
enum ServeOptions: Equatable {
    /// Print the names of the ready scripts.
    case list
    /// Print a ready script.
    case show(String)
    /// Serve a script: a file, or the name of a ready one.
    case serve(String, port: UInt16, log: String?)

    /// - Parameter arguments: The words after `serve`.
    init(arguments: [String]) throws(UsageError) {
        var script: String?
        var port: UInt16 = 0
        var log: String?
        var shown: String?
        var lists = false
        var words = arguments[...]
        while let word = words.popFirst() {
            switch word {
            case "--list": lists = true
            case "--show": shown = try words.takeValue(of: word, .serve)
            case "--log": log = try words.takeValue(of: word, .serve)
            case "--port":
                let text = try words.takeValue(of: word, .serve)
                guard let number = UInt16(text) else {
                    throw UsageError("“--port” needs a port, not “\(text)”.", .serve)
                }
                port = number
            case let option where option.hasPrefix("-"):
                throw UsageError("There is no option “\(option)”.", .serve)
            default:
                guard script == nil else { throw UsageError("“serve” takes one script.", .serve) }
                script = word
            }
        }
        if lists {
            self = .list
        } else if let shown {
            self = .show(shown)
        } else if let script {
            self = .serve(script, port: port, log: log)
        } else {
            throw UsageError("The script is missing.", .serve)
        }
    }
}
