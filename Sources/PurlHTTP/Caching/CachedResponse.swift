/// What a cache has to know of a stored response, its content aside. Times are seconds since the epoch.
package struct CachedResponse: Sendable, Equatable {
    /// The fields of the request it answered.
    package var requestFields: HeaderFields
    package var status: Int
    package var fields: HeaderFields
    /// When the request was sent.
    package var requestTime: Int64
    /// When the head of the response came.
    package var responseTime: Int64

    package init(
        requestFields: HeaderFields, status: Int, fields: HeaderFields, requestTime: Int64, responseTime: Int64
    ) {
        self.requestFields = requestFields
        self.status = status
        self.fields = fields
        self.requestTime = requestTime
        self.responseTime = responseTime
    }
}
