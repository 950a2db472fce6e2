/// Looks at the front of a URL, up to its path, for `CanonicalURL.isCanonical`.
///
/// It knows plain host names and dotted IPv4 addresses; to anything else it says no.
struct AuthorityScan {
  /// Where the path begins.
  let end: Int
  let isCanonical: Bool

  init?(_ bytes: Span<UInt8>) {
    guard let start = hostStart(bytes) else { return nil }
    var host = HostScan()
    var index = start
    while index < bytes.count, host.take(bytes[index]) { index += 1 }
    guard index < bytes.count, host.isCanonical else { return nil }
    if bytes[index] == UInt8(ascii: ":") {
      guard let end = portEnd(bytes, from: index + 1, isSecure: start == 8) else { return nil }
      index = end
    }
    end = index
    isCanonical = index < bytes.count && bytes[index] == UInt8(ascii: "/")
  }
}

/// The offset behind `http://` or `https://`, in lower case.
private func hostStart(_ bytes: Span<UInt8>) -> Int? {
  guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"),
    bytes[2] == UInt8(ascii: "t"), bytes[3] == UInt8(ascii: "p")
  else { return nil }
  let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
  guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"),
    bytes[colon + 2] == UInt8(ascii: "/")
  else { return nil }
  return colon + 3
}

/// Reads a host byte by byte.
///
/// A last label that begins with a digit is a number to libcurl, which would write `127.1` as
/// `127.0.0.1`: only four plain numbers are canonical then.
private struct HostScan {
  private var labelLength = 0
  private var labels = 1
  private var number = 0
  private var numbers = 0
  private var isNumber = true
  private var beginsWithDigit = false
  private var hasEmptyLabel = false

  /// Takes the next byte if it can be part of a host.
  @inline(__always)
  mutating func take(_ byte: UInt8) -> Bool {
    if byte == UInt8(ascii: ".") {
      endLabel()
      labels += 1
      return true
    }
    if let digit = decimalValue(byte) {
      take(digit: digit)
      return true
    }
    guard byte &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    else { return false }
    isNumber = false
    labelLength += 1
    return true
  }

  @inline(__always)
  private mutating func take(digit: Int) {
    if labelLength == 0 { beginsWithDigit = true }
    if labelLength == 1, number == 0 { isNumber = false }
    number = min(number * 10 + digit, 256)
    labelLength += 1
  }

  @inline(__always)
  private mutating func endLabel() {
    if labelLength == 0 { hasEmptyLabel = true }
    if isNumber, number < 256 { numbers += 1 }
    labelLength = 0
    number = 0
    isNumber = true
    beginsWithDigit = false
  }

  /// Asked once, at the end of the host.
  var isCanonical: Bool {
    guard labelLength > 0, !hasEmptyLabel else { return false }
    guard beginsWithDigit else { return true }
    return labels == 4 && numbers == 3 && isNumber && number < 256
  }
}

/// The offset behind a port that is written plainly and is not the scheme's own.
private func portEnd(_ bytes: Span<UInt8>, from start: Int, isSecure: Bool) -> Int? {
  var port = 0
  var index = start
  while index < bytes.count, let digit = decimalValue(bytes[index]) {
    port = port * 10 + digit
    index += 1
    guard port > 0, port < 65_536 else { return nil }
  }
  return index > start && port != (isSecure ? 443 : 80) ? index : nil
}
