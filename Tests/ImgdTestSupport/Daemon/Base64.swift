/// The bytes behind base64, for those who check what came inline.
package enum Base64 {
  private static let digits = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  /// nil when there is something in it that does not belong there.
  package static func decode(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var bits = 0
    var count = 0
    for digit in text.utf8 where digit != UInt8(ascii: "=") {
      guard let value = digits.firstIndex(of: digit) else { return nil }
      bits = (bits << 6 | value) & 0xffff
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return text.utf8.count % 4 == 0 ? bytes : nil
  }
}
