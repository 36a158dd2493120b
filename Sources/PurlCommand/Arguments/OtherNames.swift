/// What other programs, curl and wget among them, call the commands and options that are named otherwise here.
enum OtherNames {
    /// The command that is meant; `nil` when it is not known.
    static func command(_ name: String) -> String? {
        let all = [
            "download": "get", "fetch": "get", "resume": "get", "continue": "get", "upload": "put", "send": "put",
            "rm": "clean", "remove": "clean", "delete": "clean", "verify": "check", "websocket": "ws",
            "-v": "--version",
        ]
        return all[name]
    }

    /// The option that is meant; `nil` when it is not known, or the command has no such option.
    ///
    /// - Parameter names: The command's options.
    static func option(_ name: String, among names: [String]) -> String? {
        let all = [
            "-s": "--quiet", "--silent": "--quiet", "-i": "--input-file", "-O": "-o", "--output-document": "-o",
            "-j": "--parallel", "--jobs": "--parallel", "-t": "--retry", "--tries": "--retry", "--request": "-X",
            "--ca-certificate": "--cacert", "--no-check-certificate": "--insecure", "--certificate": "--cert",
            "--private-key": "--key",
        ]
        return all[name].flatMap { names.contains($0) ? $0 : nil }
    }

    /// The sentence about an option in whose place there is something else, or nothing is needed; `nil` for other options.
    static func instead(of name: String, in command: String) -> String? {
        guard ["get", "put", "ws"].contains(command) else { return nil }
        let resumes = command != "ws"
        return switch name {
        case "-u", "--user", "--http-user", "--http-password":
            "There is no option “\(name)”; the URL names user and password, as in http://NAME:PASSWORD@HOST/."
        case "-c", "-C", "--continue", "--continue-at", "--resume":
            resumes ? "“\(command)” resumes without “\(name)”." : nil
        case "-L", "--location": resumes ? "“\(command)” follows redirects without “\(name)”." : nil
        default: nil
        }
    }
}
