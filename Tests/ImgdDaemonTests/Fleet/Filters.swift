@testable import ImgdCache

/// A filter with some conditions.
func filter(_ change: (inout PurgeFilter) -> Void) -> PurgeFilter {
  var filter = PurgeFilter()
  change(&filter)
  return filter
}
