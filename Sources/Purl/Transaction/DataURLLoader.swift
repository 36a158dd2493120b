import Foundation
internal import PurlHTTP
internal import PurlIO

/// Loads a `data:` URL, which contains its response.
@NetworkActor
struct DataURLLoader: TransactionLoader {
    func loads(_ transaction: Transaction) -> Bool {
        guard let url = transaction.request.url, DataURL.matches(url) else { return false }
        Worker.shared.run(on: .files) {
            Result { () throws(DataURL.Fault) in try DataURL(url) }
        } then: { [weak transaction] result in
            guard let transaction, transaction.awaitsLoader else { return }
            switch result {
            case .failure(let fault):
                transaction.fail(.dataURL(fault))
            case .success(let loaded):
                let head = ResponseHead(of: loaded.response)
                transaction.deliver(
                    LocalResponse(loaded.response, head, .ofLocal(head, to: .get), loaded.content, from: .local))
            }
        }
        return true
    }
}
