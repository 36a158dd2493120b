import Faults
import Foundation

/// Runs every cell of the fault matrix, or thousands of transfers in turn, and counts what they leave behind. It is no test itself: descriptors and threads belong to the whole process, so this has a process of its own.
@main
enum Main {
    static func main() async {
        var words = CommandLine.arguments.dropFirst()
        let medium = words.first.flatMap { Medium(rawValue: $0) }
        if medium != nil { words = words.dropFirst() }
        switch (words.first, words.dropFirst().first) {
        case (nil, _):
            exit(await Matrix(sections: FaultMatrix.sections, medium: medium ?? .tcp).print() ? 0 : 1)
        case ("seeds", let last?) where UInt64(last) ?? 0 > 0:
            let matrix = Matrix(
                sections: FaultMatrix.sections, medium: medium ?? .memory, seeds: 1...(UInt64(last) ?? 1))
            exit(await matrix.print() ? 0 : 1)
        case ("transfers", let count?) where Int(count) != nil && medium != .secure:
            exit(await Endurance(transfers: Int(count) ?? 0, medium: medium ?? .tcp).print() ? 0 : 1)
        case ("gallery", let folder?):
            let gallery = Gallery(URL(fileURLWithPath: folder, isDirectory: true))
            do {
                if words.dropFirst(2).first == "write" { try await gallery.write() }
                let problems = try await gallery.check()
                for problem in problems { print("FAILED - \(problem)") }
                exit(problems.isEmpty ? 0 : 1)
            } catch {
                print("FAILED - \(error)")
                exit(1)
            }
        case (let name?, _):
            let sections = FaultMatrix.sections.filter { $0.name.contains(name) }
            guard !sections.isEmpty else {
                print("FaultMatrix [tcp | memory | secure | tls]                  every cell")
                print("FaultMatrix [tcp | memory | secure | tls] PART-OF-A-NAME   the cells of one section")
                print("FaultMatrix [tcp | memory | tls] transfers COUNT           so many transfers, of mixed outcomes")
                print(
                    "FaultMatrix memory | secure seeds LAST                     every cell, with the seeds from 1 to LAST"
                )
                print(
                    "FaultMatrix gallery FOLDER [write]                         some faults, compared with films of them"
                )
                exit(2)
            }
            exit(await Matrix(sections: sections, medium: medium ?? .tcp).print() ? 0 : 1)
        }
    }
}
