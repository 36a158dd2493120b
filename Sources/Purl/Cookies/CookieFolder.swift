import Foundation

/// The folder in which a program, or several that share a name, keep their cookies.
struct CookieFolder {
    let url: URL

    /// The program's own.
    static var program: CookieFolder { CookieFolder(owner: ProcessInfo.processInfo.processName) }

    /// That of the programs that know the identifier.
    static func group(_ identifier: String) -> CookieFolder {
        CookieFolder(owner: BackgroundFolder.folderName(identifier))
    }

    private init(owner: String) {
        url = UserFolders.data
            .appendingPathComponent(owner, isDirectory: true)
            .appendingPathComponent("Cookies", isDirectory: true)
    }
}
