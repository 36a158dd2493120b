/// What a trace shows of the cache.
extension TaskTrace {
    func cache(_ decision: CacheDecision) {
        switch decision {
        case .use: record(.cache(.hit))
        case .validate: record(.cache(.validate))
        case .forward: record(.cache(.miss))
        case .unsatisfiable, .refuse: record(.cache(.refuse))
        }
    }

    func cache(_ judgement: ResponseDecision.CacheJudgement) {
        switch judgement {
        case .confirmed: record(.cache(.confirmed))
        case .replaced: record(.cache(.replacesFailure))
        case .mismatched, .irrelevant: break
        }
    }
}
