/// The details of an entry on disk.
package struct EntryDetails: Sendable {
  package let url: String
  package let identifier: String?
  package let facts: ImageFacts
  package let bytes: Int
  package let age: Int
  package let freshFor: Int
  /// Seconds since 1970.
  package let storedAt: Int64
  /// Empty where the details come from memory alone (`DiskTier.readyHit`).
  package let tags: [String]
  package let path: String
}
