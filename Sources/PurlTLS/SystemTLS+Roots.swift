public import Foundation

extension SystemTLS {
    /// A provider that trusts these issuers and no others: a test's authority, or a company's own.
    ///
    /// ```swift
    /// configuration.tlsProvider = SystemTLS(trusting: try authority.rootDER)
    /// ```
    ///
    /// - Parameter roots: Their certificates, in PEM or DER.
    public convenience init(trusting roots: Data...) {
        self.init(Options(roots: .only(roots.map { .data($0) })))
    }
}
