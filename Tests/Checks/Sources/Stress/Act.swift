import Foundation
import Purl

/// A call that a program may make at any time, from any thread.
struct Act: Sendable {
    let name: String
    /// How often the call is made, relative to others.
    let weight: Int
    let perform: @Sendable (Arena, inout Dice) -> Void

    init(_ name: String, weight: Int = 4, _ perform: @escaping @Sendable (Arena, inout Dice) -> Void) {
        self.name = name
        self.weight = weight
        self.perform = perform
    }

    /// A call to any task.
    static func task(
        _ name: String, weight: Int = 4, _ perform: @escaping @Sendable (URLSessionTask, inout Dice) -> Void
    ) -> Act {
        Act("task.\(name)", weight: weight) { arena, dice in
            if let task = arena.task(&dice) { perform(task, &dice) }
        }
    }

    /// A call to a WebSocket task.
    static func webSocket(
        _ name: String, weight: Int = 4,
        _ perform: @escaping @Sendable (Arena, URLSessionWebSocketTask, inout Dice) -> Void
    ) -> Act {
        Act("webSocketTask.\(name)", weight: weight) { arena, dice in
            if let task = arena.webSocketTask(&dice) { perform(arena, task, &dice) }
        }
    }

    /// A call to a stream task.
    static func stream(
        _ name: String, weight: Int = 4,
        _ perform: @escaping @Sendable (Arena, URLSessionStreamTask, inout Dice) -> Void
    ) -> Act {
        Act("streamTask.\(name)", weight: weight) { arena, dice in
            if let task = arena.streamTask(&dice) { perform(arena, task, &dice) }
        }
    }

    /// A call to a session.
    static func session(
        _ name: String, weight: Int = 4, _ perform: @escaping @Sendable (NumberedSession, inout Dice) -> Void
    ) -> Act {
        Act("session.\(name)", weight: weight) { arena, dice in perform(arena.session(&dice), &dice) }
    }

    /// All calls, each as often as its weight.
    static let all = (Load.acts + tasks + sessions + storages + webSockets + streams).flatMap {
        Array(repeating: $0, count: $0.weight)
    }
}

extension Act {
    static let sessions: [Act] = [
        Act("session.replace", weight: 1) { arena, dice in if dice.once(in: 4) { arena.replaceSession(&dice) } },
        .session("finishTasksAndInvalidate", weight: 1) { session, dice in
            if dice.once(in: 32) { session.finishTasksAndInvalidate() }
        },
        .session("invalidateAndCancel", weight: 1) { session, dice in
            if dice.once(in: 32) { session.invalidateAndCancel() }
        },
        Act("session.getAllTasks") { arena, dice in
            let offspring = dice.offspring()
            arena.session(&dice).getAllTasks { tasks in
                var dice = offspring
                if let task = dice.pick(tasks) { arena.share(task, &dice) }
            }
        },
        .session("getTasksWithCompletionHandler") { session, _ in
            session.getTasksWithCompletionHandler { data, uploads, downloads in
                _ = data.count + uploads.count + downloads.count
            }
        },
        .session("allTasks", weight: 2) { session, _ in
            Task { _ = await session.allTasks.count + session.tasks.0.count }
        },
        .session("flush") { session, _ in session.flush {} },
        .session("reset", weight: 1) { session, dice in if dice.once(in: 4) { session.reset {} } },
        .session("configuration") { session, dice in
            let configuration = session.configuration
            configuration.timeoutIntervalForRequest = 1
            configuration.httpAdditionalHeaders = ["X-Number": "\(dice.below(10))"]
            _ = (configuration.copy() as? URLSessionConfiguration)?.httpAdditionalHeaders
        },
        .session("delegate") { session, _ in _ = session.delegate },
        .session("sessionDescription") { session, dice in
            if dice.once(in: 2) { session.sessionDescription = "session" } else { _ = session.sessionDescription }
        },
        .session("delegateQueue") { session, dice in
            let queue = session.delegateQueue
            switch dice.below(4) {
            case 0: queue.addOperation {}
            case 1: queue.cancelAllOperations()
            case 2:
                queue.isSuspended = true
                queue.isSuspended = false
            default: _ = queue.operationCount
            }
        },
        Act("server.closeConnections", weight: 1) { arena, dice in
            if dice.once(in: 32) { arena.server.closeConnections() }
        },
    ]
}

extension Act {
    static let storages: [Act] = caches + cookies + credentials

    /// A call to a cache: two times of three the shared one, otherwise a session's.
    private static func cache(
        _ name: String, weight: Int = 2, _ perform: @escaping @Sendable (URLCache, URLRequest, inout Dice) -> Void
    ) -> Act {
        Act("cache.\(name)", weight: weight) { arena, dice in
            guard let cache = dice.once(in: 3) ? arena.session(&dice).configuration.urlCache : .shared else { return }
            perform(cache, URLRequest(url: arena.server.server.url("/cacheable")), &dice)
        }
    }

    private static let caches: [Act] = [
        cache("cachedResponse(for:)") { cache, request, _ in _ = cache.cachedResponse(for: request)?.data.count },
        cache("storeCachedResponse") { cache, request, dice in
            guard let url = request.url else { return }
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 3, textEncodingName: nil)
            let content = Data(repeating: 1, count: dice.below(5000))
            cache.storeCachedResponse(CachedURLResponse(response: response, data: content), for: request)
        },
        cache("removeCachedResponse(for:)") { cache, request, _ in cache.removeCachedResponse(for: request) },
        cache("removeCachedResponses(since:)", weight: 1) { cache, _, _ in
            cache.removeCachedResponses(since: Date().addingTimeInterval(-1))
        },
        cache("removeAllCachedResponses", weight: 1) { cache, _, _ in cache.removeAllCachedResponses() },
        cache("usage") { cache, _, _ in _ = cache.currentMemoryUsage + cache.currentDiskUsage },
        cache("capacity", weight: 1) { cache, _, dice in
            cache.memoryCapacity = 1000 << dice.below(12)
            cache.diskCapacity = 1000 << dice.below(15)
            _ = cache.memoryCapacity + cache.diskCapacity
        },
        Act("cache.of task", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) as? URLSessionDataTask else { return }
            URLCache.shared.getCachedResponse(for: task) { response in
                if let response { URLCache.shared.storeCachedResponse(response, for: task) }
            }
            if dice.once(in: 4) { URLCache.shared.removeCachedResponse(for: task) }
        },
    ]

    private static func cookies(
        _ name: String, weight: Int = 2, _ perform: @escaping @Sendable (HTTPCookieStorage, URL, inout Dice) -> Void
    ) -> Act {
        Act("cookies.\(name)", weight: weight) { arena, dice in
            let own = dice.once(in: 3) ? arena.session(&dice).configuration.httpCookieStorage : .shared
            guard let storage = own else { return }
            perform(storage, arena.server.server.url("/cookies"), &dice)
        }
    }

    private static func cookie(for url: URL, _ dice: inout Dice) -> HTTPCookie? {
        HTTPCookie(properties: [
            .name: "name\(dice.below(8))", .value: "\(dice.below(100))", .originURL: url, .path: "/",
            .maximumAge: "\(dice.below(100))",
        ])
    }

    private static let cookies: [Act] = [
        cookies("cookies") { storage, _, _ in _ = storage.cookies?.count },
        cookies("cookies(for:)") { storage, url, _ in
            _ = HTTPCookie.requestHeaderFields(with: storage.cookies(for: url) ?? []).count
        },
        cookies("setCookie") { storage, url, dice in cookie(for: url, &dice).map(storage.setCookie) },
        cookies("setCookies(_:for:)") { storage, url, dice in
            storage.setCookies([cookie(for: url, &dice)].compactMap(\.self), for: url, mainDocumentURL: url)
        },
        cookies("deleteCookie") { storage, url, dice in cookie(for: url, &dice).map(storage.deleteCookie) },
        cookies("removeCookies(since:)", weight: 1) { storage, _, _ in
            storage.removeCookies(since: Date().addingTimeInterval(-1))
        },
        cookies("sortedCookies") { storage, _, _ in _ = storage.sortedCookies(using: []).count },
        cookies("cookieAcceptPolicy", weight: 1) { storage, _, dice in
            storage.cookieAcceptPolicy = dice.once(in: 8) ? .never : .always
        },
        Act("cookies.of task", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) else { return }
            HTTPCookieStorage.shared.getCookiesFor(task) { _ in }
            HTTPCookieStorage.shared.storeCookies([], for: task)
        },
    ]

    private static func credentials(
        _ name: String, _ perform: @escaping @Sendable (URLCredentialStorage, URLProtectionSpace, inout Dice) -> Void
    ) -> Act {
        Act("credentials.\(name)", weight: 2) { arena, dice in
            let own = dice.once(in: 3) ? arena.session(&dice).configuration.urlCredentialStorage : .shared
            guard let storage = own else { return }
            let space = URLProtectionSpace(
                host: "127.0.0.1", port: Int(arena.server.server.port), protocol: "http", realm: "club",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            perform(storage, space, &dice)
        }
    }

    private static func credential(_ dice: inout Dice) -> URLCredential {
        URLCredential(
            user: MisbehavingServer.user, password: dice.once(in: 3) ? "wrong" : MisbehavingServer.password,
            persistence: .forSession)
    }

    private static let credentials: [Act] = [
        credentials("set") { storage, space, dice in storage.set(credential(&dice), for: space) },
        credentials("setDefaultCredential") { storage, space, dice in
            storage.setDefaultCredential(credential(&dice), for: space)
        },
        credentials("remove") { storage, space, dice in storage.remove(credential(&dice), for: space) },
        credentials("defaultCredential") { storage, space, _ in _ = storage.defaultCredential(for: space)?.user },
        credentials("credentials(for:)") { storage, space, _ in _ = storage.credentials(for: space)?.count },
        credentials("allCredentials") { storage, _, _ in _ = storage.allCredentials.count },
    ]
}

extension Act {
    /// Nearly all have a time, so that calls without an answer do not pile up.
    private static func time(_ dice: inout Dice) -> TimeInterval {
        dice.once(in: 8) ? 0 : Double(dice.below(20) + 1) / 50
    }

    static let streams: [Act] = [
        .stream("readData", weight: 8) { arena, task, dice in
            let minimum = dice.below(dice.once(in: 4) ? 30_000 : 100)
            let maximum = minimum + dice.below(10_000)
            let time = time(&dice)
            let question = arena.ledger.ask("readData")
            if dice.once(in: 2) {
                task.readData(ofMinLength: minimum, maxLength: maximum, timeout: time) { bytes, _, error in
                    arena.ledger.check(bytes == nil || error == nil, "bytes, and an error")
                    arena.ledger.check((bytes?.count ?? 0) <= maximum, "more bytes than were asked for")
                    question.answer()
                }
            } else {
                let work = Task {
                    _ = try? await task.readData(ofMinLength: minimum, maxLength: maximum, timeout: time)
                    question.answer()
                }
                if dice.once(in: 3) { work.cancel() } else { arena.share(work, &dice) }
            }
        },
        .stream("write", weight: 8) { arena, task, dice in
            let bytes = Data(count: dice.once(in: 8) ? 300_000 : dice.below(2000))
            let time = time(&dice)
            let question = arena.ledger.ask("write")
            if dice.once(in: 2) {
                task.write(bytes, timeout: time) { _ in question.answer() }
            } else {
                Task {
                    try? await task.write(bytes, timeout: time)
                    question.answer()
                }
            }
        },
        .stream("closeRead", weight: 1) { _, task, dice in if dice.once(in: 2) { task.closeRead() } },
        .stream("closeWrite", weight: 1) { _, task, dice in if dice.once(in: 2) { task.closeWrite() } },
        .stream("captureStreams", weight: 1) { _, task, _ in task.captureStreams() },
        .stream("startSecureConnection", weight: 1) { _, task, dice in
            if dice.once(in: 4) { task.startSecureConnection() } else { task.stopSecureConnection() }
        },
        Act("capture.close", weight: 2) { arena, dice in arena.captures.closeOne(&dice) },
        Act("capture.status", weight: 2) { arena, dice in arena.captures.lookAtOne(&dice) },
    ]
}

extension Act {
    static let tasks: [Act] = [
        .task("resume", weight: 16) { task, _ in task.resume() },
        .task("suspend") { task, _ in task.suspend() },
        .task("cancel", weight: 1) { task, _ in task.cancel() },
        Act("task.cancel(byProducingResumeData:)", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) as? URLSessionDownloadTask else { return }
            task.cancel { data in arena.keep(data) }
        },
        .task("state") { task, _ in _ = task.state },
        .task("priority") { task, dice in
            if dice.once(in: 2) { task.priority = Float(dice.below(5)) / 4 } else { _ = task.priority }
        },
        .task("counts") { task, _ in
            _ = task.countOfBytesReceived + task.countOfBytesSent
            _ = task.countOfBytesExpectedToSend + task.countOfBytesExpectedToReceive
        },
        .task("countOfBytesClientExpectsTo") { task, dice in
            if dice.once(in: 2) {
                task.countOfBytesClientExpectsToSend = Int64(dice.below(1000))
                task.countOfBytesClientExpectsToReceive = Int64(dice.below(1000))
            } else {
                _ = task.countOfBytesClientExpectsToSend + task.countOfBytesClientExpectsToReceive
            }
        },
        .task("currentRequest") { task, _ in _ = task.currentRequest?.allHTTPHeaderFields?.count },
        .task("originalRequest") { task, _ in _ = task.originalRequest?.url?.absoluteString.count },
        .task("response") { task, _ in
            _ = task.response?.suggestedFilename
            _ = (task.response as? HTTPURLResponse)?.allHeaderFields.count
        },
        .task("error") { task, _ in _ = task.error?.localizedDescription },
        .task("taskDescription") { task, dice in
            if dice.once(in: 2) { task.taskDescription = "task \(dice.below(100))" } else { _ = task.taskDescription }
        },
        .task("earliestBeginDate", weight: 2) { task, dice in
            switch dice.below(3) {
            case 0: task.earliestBeginDate = Date().addingTimeInterval(Double(dice.below(50)) / 1000)
            case 1: task.earliestBeginDate = nil
            default: _ = task.earliestBeginDate
            }
        },
        .task("prefersIncrementalDelivery") { task, dice in
            if dice.once(in: 2) {
                task.prefersIncrementalDelivery = dice.once(in: 2)
            } else {
                _ = task.prefersIncrementalDelivery
            }
        },
        .task("description") { task, _ in _ = task.description.count },
        .task("copy") { task, _ in _ = task.copy() },
        Act("task.delegate", weight: 2) { arena, dice in
            guard let task = arena.task(&dice) else { return }
            switch dice.below(3) {
            case 0: task.delegate = Nuisance(arena, dice.offspring())
            case 1: task.delegate = nil
            default: _ = task.delegate
            }
        },
        .task("progress") { task, dice in
            let progress = task.progress
            switch dice.below(16) {
            case 0: progress.cancel()
            case 1: progress.pause()
            case 2: progress.resume()
            default: _ = progress.fractionCompleted + Double(progress.completedUnitCount + progress.totalUnitCount)
            }
        },
        Act("Task.cancel", weight: 2) { arena, dice in arena.work(&dice)?.cancel() },
    ]

    static let webSockets: [Act] = [
        .webSocket("send", weight: 8) { arena, task, dice in
            let question = arena.ledger.ask("send")
            let message: URLSessionWebSocketTask.Message =
                dice.once(in: 2)
                ? .string(String(repeating: "text ", count: dice.below(100))) : .data(Data(count: dice.below(20_000)))
            if dice.once(in: 2) {
                task.send(message) { _ in question.answer() }
            } else {
                Task {
                    try? await task.send(message)
                    question.answer()
                }
            }
        },
        .webSocket("receive", weight: 8) { arena, task, dice in
            let question = arena.ledger.ask("receive")
            if dice.once(in: 2) {
                task.receive { _ in question.answer() }
            } else {
                let work = Task {
                    _ = try? await task.receive()
                    question.answer()
                }
                if dice.once(in: 3) { work.cancel() }
            }
        },
        .webSocket("sendPing") { arena, task, dice in
            let question = arena.ledger.ask("sendPing")
            if dice.once(in: 2) {
                task.sendPing { _ in question.answer() }
            } else {
                Task {
                    try? await task.sendPing()
                    question.answer()
                }
            }
        },
        .webSocket("cancel(with:reason:)", weight: 2) { _, task, dice in
            task.cancel(with: dice.pick([.normalClosure, .goingAway, .invalid]) ?? .invalid, reason: Data("bye".utf8))
        },
        .webSocket("cancel(withStatus:reason:)", weight: 1) { _, task, _ in task.cancel(withStatus: 4000, reason: nil)
        },
        .webSocket("maximumMessageSize") { _, task, dice in
            if dice.once(in: 4) {
                task.maximumMessageSize = 10_000 << dice.below(8)
            } else {
                _ = task.maximumMessageSize
            }
        },
        .webSocket("closeCode") { _, task, _ in
            _ = task.closeCode
            _ = task.closeReason
            _ = task.closeStatus
        },
    ]
}
