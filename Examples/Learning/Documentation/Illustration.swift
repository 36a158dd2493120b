import Foundation

/// A picture in the documentation of the libraries, and the scene that it shows.
struct Illustration: Sendable {
    /// The library whose catalogue has the page.
    let library: String
    /// The page's file name, without extension.
    let page: String
    let scene: Scene

    /// All pictures that scenes make.
    static let all = [
        Illustration(library: "PurlTrace", page: "PurlTrace", scene: .redirectedAndCut),
        Illustration(library: "Purl", page: "A-transfers-journey", scene: .journey),
        Illustration(library: "Purl", page: "Resuming", scene: .changedResource),
        Illustration(library: "Purl", page: "Caching", scene: .caching),
        Illustration(library: "Purl", page: "Authentication", scene: .authentication),
        Illustration(library: "Purl", page: "Uploading", scene: .resumableUpload),
        Illustration(library: "Purl", page: "Proxies", scene: .proxy),
        Illustration(library: "Purl", page: "StubbingRequests", scene: .stub),
        Illustration(library: "Purl", page: "WebSockets", scene: .webSocket),
        Illustration(library: "Purl", page: "StreamTasks", scene: .stream),
        Illustration(library: "Purl", page: "BackgroundSessions", scene: .afterTheKill),
        Illustration(library: "PurlDownloads", page: "PurlDownloads", scene: .theLibrary),
    ]

    var pageFile: URL { catalogue.appendingPathComponent("\(page).md", isDirectory: false) }

    var picture: URL { catalogue.appendingPathComponent("Resources/\(scene.name).svg", isDirectory: false) }

    private var catalogue: URL {
        Catalogue.root.appendingPathComponent("../../Sources/\(library)/\(library).docc", isDirectory: true)
            .standardizedFileURL
    }
}
