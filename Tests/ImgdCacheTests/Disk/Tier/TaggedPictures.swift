@testable import ImgdCache

extension TierStage {
  /// A tier with four pictures, of which every second one has the tag that is purged.
  static func withTagged(_ limits: DiskLimits = .roomy) throws -> TierStage {
    let stage = try TierStage(limits)
    for number in 0..<4 {
      stage.tier.add(photo(url(number), tags: number.isMultiple(of: 2) ? ["t"] : [], on: stage))
    }
    stage.turn()
    return stage
  }

  /// A purge of that tag.
  static var tagged: PurgeFilter {
    var filter = PurgeFilter()
    filter.tag = "t"
    return filter
  }
}
