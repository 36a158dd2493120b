internal import PurlHTTP

/// The header fields of a request as they came: order, repeats and upper and lower case kept.
public struct ReceivedFields: Sendable, Equatable, RandomAccessCollection, CustomStringConvertible {
    /// One field line.
    public struct Field: Sendable, Equatable {
        /// The name as the client wrote it.
        public var name: String
        /// The value without the white space around it.
        public var value: String

        /// A field line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private let fields: HeaderFields

    init(_ fields: HeaderFields) {
        self.fields = fields
    }

    /// Always 0.
    public var startIndex: Int { 0 }

    /// The number of field lines.
    public var endIndex: Int { fields.count }

    /// The field line at `position`.
    public subscript(position: Int) -> Field {
        let field = fields[fields.index(fields.startIndex, offsetBy: position)]
        return Field(name: field.name, value: field.value)
    }

    /// The value of the field called `name` in any mixture of cases; several lines are joined with `", "`.
    public subscript(name: String) -> String? { fields[FieldName(name)] }

    /// The values of all lines called `name` in any mixture of cases, in order.
    public func values(_ name: String) -> [String] { fields.values(of: FieldName(name)) }

    /// The names in the order and the spelling in which they came.
    public var names: [String] { map(\.name) }

    /// One `name: value` a line.
    public var description: String { map { "\($0.name): \($0.value)" }.joined(separator: "\n") }
}
