/// The value of `Vary`: what besides the target the server selected the response by (RFC 9110 §12.5.5).
package enum VaryList: Sendable, Hashable {
    /// `*`: no other request is known to get the same response.
    case anything
    /// These fields of the request; none when there is no `Vary`.
    case fields([FieldName])

    /// The elements over all lines; one `*` among them is enough.
    package init(_ fields: HeaderFields) {
        let elements = fields.listElements(of: .vary)
        self = elements.contains("*") ? .anything : .fields(elements.map { FieldName($0) })
    }

    /// Whether the response to one request may answer another (RFC 9111 §4.1): the named fields are the same in both,
    /// or missing in both.
    package func allows(_ new: HeaderFields, after original: HeaderFields) -> Bool {
        switch self {
        case .anything: false
        // The lines joined: to have several lines or one with all values is the same.
        case .fields(let names):
            names.allSatisfy { name in
                original.contains(name) == new.contains(name)
                    && original.listElements(of: name) == new.listElements(of: name)
            }
        }
    }
}
