import PurlIO

@testable import Purl

/// Brings every connection of a session to one scripted server, whoever it was meant for.
struct InProcessDialler: Dialler {
    let server: ScriptedServer

    func dial(
        _ endpoint: Endpoint, completion: @escaping @NetworkActor (Result<StreamSocket, DialError>) -> Void
    ) -> Dial {
        Dial(connect: { server.connect() }, completion: completion)
    }
}
