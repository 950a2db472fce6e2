/// Looks for an entity tag in the lists of If-None-Match and If-Match (RFC 9110, 8.8.3, 13.1).
///
/// The part between the quotes is compared byte for byte. It has no escapes, so that `"\"` is a whole tag, and
/// commas in it mean nothing.
package struct EntityTag {
  private let opaque: ArraySlice<UInt8>
  private let isWeak: Bool

  /// Nil for a text that is not one tag.
  package init?(_ text: String) {
    var scanner = FieldScanner(text)
    guard let tag = scanner.takeEntityTag(), scanner.isAtEnd else { return nil }
    (opaque, isWeak) = tag
  }

  /// Whether a list has this tag, weak or not; nil for a text that is no list of tags.
  package func isIn(_ list: String) -> Bool? { isIn(list) { _ in true } }

  /// Whether a list has this tag, and both stand for the very same bytes; nil for a text that is no list of tags.
  package func isStrongly(in list: String) -> Bool? { isIn(list) { !isWeak && !$0 } }

  private func isIn(_ list: String, _ counts: (_ isOtherWeak: Bool) -> Bool) -> Bool? {
    var scanner = FieldScanner(list)
    var isFound = false
    while scanner.skipToMember() {
      guard let other = scanner.takeEntityTag(), scanner.isAtEndOfMember else { return nil }
      isFound = isFound || counts(other.isWeak) && opaque == other.opaque
    }
    return isFound
  }
}
