// What a program writes its own connections with. It is declared below this target, since the loopback server of
// PurlTesting offers connections in memory and does not know the client.

@_exported public import enum PurlIO.ConnectedTransport
@_exported public import struct PurlIO.ConnectionRequest
@_exported public import protocol PurlIO.Connector
@_exported public import protocol PurlIO.HostResolver
@_exported public import protocol PurlIO.Transport
@_exported public import struct PurlIO.TransportAddress
@_exported public import struct PurlIO.TransportInterest
@_exported public import enum PurlIO.TransportMove
@_exported public import class PurlIO.TransportSignal
