// What ``LoopbackServer/connector`` is. A program that tests a client of its own need not import Purl for it.
@_exported public import enum PurlIO.ConnectedTransport
@_exported public import struct PurlIO.ConnectionRequest
@_exported public import protocol PurlIO.Connector
