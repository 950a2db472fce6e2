/// What counts as answered from the cache, for all programs that show it.
enum Lookups {
  /// The look-ups that were found in a tier or joined a download under way; `number` gives a counter.
  static func answered(_ number: (_ object: String, _ field: String) -> Int) -> Int {
    let (found, missed) = (number("memory", "hits"), number("memory", "misses"))
    let local = found.addedClamped(number("disk", "hits")).addedClamped(number("fleet", "hits"))
    return min(local.addedClamped(number("memory", "coalesced")), found.addedClamped(missed))
  }
}
