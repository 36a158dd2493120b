import Foundation
import Purl

/// Downloads several URLs: each of them once, and a limited number at a time.
@MainActor
final class SmallDownloadManager {
    /// Called after each change of a download's state.
    var onState: (URLDownloader) -> Void = { _ in }

    private let folder: URL
    private let limit: Int
    private let session: URLSession
    /// The downloads that are not finished, by the digests of their URLs.
    private var downloaders: [String: URLDownloader] = [:]
    /// The keys of those that wait for a slot, first in first out.
    private var waiting: [String] = []

    /// - Parameters:
    ///   - folder: Where the files are.
    ///   - limit: How many are transferred at a time.
    ///   - configuration: What the session is made of.
    init(in folder: URL, limit: Int, configuration: URLSessionConfiguration = .default) {
        self.folder = folder
        self.limit = limit
        session = URLSession(configuration: configuration, delegate: nil, delegateQueue: .main)
    }

    // MARK: Control

    /// Downloads a URL. One that is known already is not made a second time; one that is ending is started again afterwards.
    @discardableResult
    func download(_ url: URL) -> URLDownloader {
        let key = DownloadPlace(url, in: folder).key
        let downloader = downloaders[key] ?? make(url, key)
        switch downloader.state {
        case .downloading, .paused: break
        case .idle, .ending, .finished, .failed: if !waiting.contains(key) { waiting.append(key) }
        }
        fillSlots()
        return downloader
    }

    /// Ends a download, and removes its bytes.
    func cancelAndClean(_ url: URL) {
        let key = DownloadPlace(url, in: folder).key
        waiting.removeAll { $0 == key }
        downloaders[key]?.cancelAndClean()
        // One with a task is forgotten, and its slot is free, when that has ended and `stateChanged` is called.
        if transferred[key] == nil { downloaders[key] = nil }
    }

    /// Ends all transfers, and keeps the bytes.
    func invalidate() {
        waiting = []
        session.invalidateAndCancel()
    }

    // MARK: Slots

    /// The downloads with a task. One that was cancelled counts until its task has ended.
    private var transferred: [String: URLDownloader] = [:]

    private func make(_ url: URL, _ key: String) -> URLDownloader {
        let downloader = URLDownloader(url, in: folder, session: session)
        downloader.onState = { [weak self, weak downloader] state in
            if let downloader { self?.stateChanged(downloader, key, state) }
        }
        downloaders[key] = downloader
        return downloader
    }

    private func stateChanged(_ downloader: URLDownloader, _ key: String, _ state: URLDownloader.State) {
        switch state {
        case .downloading, .paused, .ending: break
        case .failed: transferred[key] = nil
        case .idle, .finished:
            transferred[key] = nil
            if !waiting.contains(key) { downloaders[key] = nil }
        }
        onState(downloader)
        fillSlots()
    }

    /// Starts what waits, as long as there is a slot.
    private func fillSlots() {
        while transferred.count < limit, let index = waiting.firstIndex(where: { transferred[$0] == nil }) {
            let key = waiting.remove(at: index)
            guard let downloader = downloaders[key] else { continue }
            transferred[key] = downloader
            downloader.start()
        }
    }
}
