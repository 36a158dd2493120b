/// Orders, each URL once, in the order in which they were given.
struct OrderList {
    private(set) var orders: [Order] = []
    private var places: [String: Int] = [:]

    init(_ orders: [Order] = []) {
        for order in orders { add(order) }
    }

    /// Adds an order. The same one twice is one; `false` when its URL is there already with other wishes.
    @discardableResult
    mutating func add(_ order: Order) -> Bool {
        let key = order.url.absoluteString
        if let place = places[key] { return orders[place] == order }
        places[key] = orders.count
        orders.append(order)
        return true
    }
}
