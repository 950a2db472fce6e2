internal import ImgdText

/// The form in which a host is stored, so that the hosts below it form a range: "www.example.org" is stored as
/// "org.example.www.", and an address, below which there is nothing, unchanged.
struct HostOrder {
  /// The host in lower case.
  let host: String
  let stored: String
  /// Whether there can be hosts below it.
  let isName: Bool

  init(_ host: String) {
    let bytes = host.utf8.map(lowerCase)
    isName = !Self.isAddress(bytes)
    self.host = String(decoding: bytes, as: UTF8.self)
    stored = isName ? turnedRound(bytes.dropLast(0)) + "." : self.host
  }

  init(stored: String) {
    self.stored = stored
    // Only a name that has been turned round ends with a dot.
    isName = stored.utf8.last == dot
    host = isName ? turnedRound(Array(stored.utf8).dropLast()) : stored
  }

  private static func isAddress(_ host: [UInt8]) -> Bool {
    guard let first = host.first, let last = host.last else { return true }
    return decimalValue(last) != nil || first == UInt8(ascii: "[") && last == UInt8(ascii: "]")
  }
}

/// A host with its labels in reverse order.
private func turnedRound(_ host: ArraySlice<UInt8>) -> String {
  let labels = host.split(separator: dot, omittingEmptySubsequences: false)
  return String(decoding: Array(labels.reversed().joined(separator: [dot])), as: UTF8.self)
}

private let dot = UInt8(ascii: ".")

/// The first text after all those that begin with `prefix`, in the order of their bytes; nil if there is
/// none.
func end(ofPrefix prefix: [UInt8]) -> [UInt8]? {
  var end = prefix
  while end.last == 0xFF { end.removeLast() }
  guard let last = end.popLast() else { return nil }
  return end + [last + 1]
}
