internal import ImgdText

/// Looks at the front of a URL, up to its path, for `CanonicalURL.isCanonical`.
///
/// It accepts plain host names and dotted IPv4 addresses, and nothing else.
struct AuthorityScan {
  /// The offset at which the path begins.
  let end: Int
  let isCanonical: Bool

  init?(_ bytes: Span<UInt8>) {
    guard let start = hostStart(bytes), let hostEnd = hostEnd(bytes, from: start) else { return nil }
    var index = hostEnd
    if index < bytes.count, bytes[index] == UInt8(ascii: ":") {
      guard let end = portEnd(bytes, from: index + 1, isSecure: start == 8) else { return nil }
      index = end
    }
    end = index
    isCanonical = index < bytes.count && bytes[index] == UInt8(ascii: "/")
  }
}

/// The offset just after `http://` or `https://`, in lower case.
private func hostStart(_ bytes: Span<UInt8>) -> Int? {
  guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"), bytes[2] == UInt8(ascii: "t"),
    bytes[3] == UInt8(ascii: "p")
  else { return nil }
  let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
  guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
  else { return nil }
  return colon + 3
}

/// The offset just after a host without empty labels.
///
/// A last label that begins with a digit is a number to libcurl, which would write `127.1` as
/// `127.0.0.1`: only four plain numbers are canonical then.
private func hostEnd(_ bytes: Span<UInt8>, from start: Int) -> Int? {
  var label = start
  var index = start
  while index < bytes.count {
    let byte = bytes[index]
    if byte == UInt8(ascii: ".") {
      guard index > label else { return nil }
      label = index + 1
    } else if !isCanonicalHostByte(byte) {
      break
    }
    index += 1
  }
  guard index > label else { return nil }
  guard decimalValue(bytes[label]) != nil else { return index }
  return isPlainAddress(bytes, start..<index) ? index : nil
}

@inline(__always) private func isCanonicalHostByte(_ byte: UInt8) -> Bool {
  byte &- UInt8(ascii: "a") < 26 || decimalValue(byte) != nil || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
}

/// Whether a host is four numbers up to 255, none with a leading zero.
private func isPlainAddress(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
  var numbers = 1
  var number = 0
  var digits = 0
  for index in range {
    if bytes[index] == UInt8(ascii: ".") {
      numbers += 1
      number = 0
      digits = 0
      continue
    }
    guard let digit = decimalValue(bytes[index]), digits == 0 || number > 0 else { return false }
    number = number * 10 + digit
    digits += 1
    guard number < 256 else { return false }
  }
  return numbers == 4
}

/// The offset just after a port that is written plainly and is not the scheme's own.
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
