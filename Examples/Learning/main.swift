import Foundation
import PurlTrace

// In this folder:
//
// swift run Learning                 lists the lessons
// swift run Learning NUMBER          plays the scenes of a lesson, and prints what its delegates were called with
// swift run Learning write           makes all pictures anew, and the lists of calls in the lessons' pages
// swift run Learning site FOLDER GRAPHS
//                                    makes the web site; GRAPHS has the libraries' symbol graphs, see the script `site`
let arguments = CommandLine.arguments.dropFirst()

switch arguments.first {
case nil:
    for lesson in Lesson.all { print("\(lesson.number)  \(lesson.name)") }
case "write":
    for lesson in Lesson.all { try await write(lesson) }
    for illustration in Illustration.all {
        try await illustration.scene.run().picture
            .write(to: illustration.picture, atomically: true, encoding: .utf8)
    }
case "site":
    guard arguments.count == 3, let graphs = arguments.last, let folder = arguments.dropFirst().first else { usage() }
    let problems = try await Site.write(
        to: URL(fileURLWithPath: folder, isDirectory: true), graphs: URL(fileURLWithPath: graphs, isDirectory: true))
    for problem in problems { print("error: \(problem)") }
    if !problems.isEmpty { exit(1) }
case let text?:
    guard let number = Int(text), let lesson = Lesson.all.first(where: { $0.number == number }) else {
        usage()
    }
    try await show(lesson)
}

func usage() -> Never {
    print("usage: Learning [NUMBER | write | site FOLDER GRAPHS]")
    exit(64)
}

@MainActor
func show(_ lesson: Lesson) async throws {
    for scene in lesson.scenes {
        let film = try await scene.run()
        print("\(scene.title)\n")
        for line in film.printed { print("  \(line)") }
        print("\nThe delegate was called with:\n")
        for line in film.calls { print("  \(line)") }
        print("\nWhat happened:\n")
        for line in TextTrace(film.recording).lines { print("  \(line)") }
        print("")
    }
    for finding in lesson.findings {
        for line in finding.story()?.lines ?? ["No seed fails."] { print(line) }
        print("")
    }
}

@MainActor
func write(_ lesson: Lesson) async throws {
    var shown: [(name: String, picture: String, lines: [String])] = []
    for scene in lesson.scenes {
        let film = try await scene.run()
        shown.append((scene.name, film.picture, film.calls))
    }
    for finding in lesson.findings {
        guard let story = finding.story() else {
            print("No seed fails for \(finding.name).")
            continue
        }
        shown.append((finding.name, story.picture, story.lines))
    }
    var page = try String(contentsOf: lesson.page, encoding: .utf8)
    for (name, picture, lines) in shown {
        try picture.write(to: Catalogue.picture(name), atomically: true, encoding: .utf8)
        guard let changed = Catalogue.page(page, showing: lines, after: name) else {
            print("\(lesson.page.lastPathComponent) does not show \(name) and, after it, a block of text.")
            continue
        }
        page = changed
    }
    try page.write(to: lesson.page, atomically: true, encoding: .utf8)
}
