// What identifies a URL: two spellings that every server must treat alike become one text.
//
// Scheme and host are lower case, the default port, the fragment and dot segments are gone, an
// empty path is "/". Path and query are otherwise left as they are: only the origin knows whether
// they mean the same.
//
// Nearly every URL that a program sends is canonical already. A scan over its bytes finds that out
// without allocating anything; only what the scan does not know for sure goes through libcurl's
// parser, which is the one that will fetch it.

import CCurl

/// Why a text is no URL that can be fetched.
package enum URLProblem: Error, Equatable {
  case bad(reason: String)
  case blockedScheme(String)
}

package struct CanonicalURL: Hashable, Sendable {
  package static let longest = 8 << 10

  package let text: String

  /// The canonical form of a text, or what is wrong with it.
  package static func parse(_ text: String) throws(URLProblem) -> CanonicalURL {
    if isCanonical(text) { return CanonicalURL(text: text) }
    try refuse(text)
    return CanonicalURL(text: try URLParts(text).canonical())
  }

  /// Whether a text is surely in canonical form; false is no verdict.
  package static func isCanonical(_ text: String) -> Bool {
    let utf8 = text.utf8
    guard utf8.count <= longest else { return false }
    // Lent for the call.
    return unsafe utf8.withContiguousStorageIfAvailable { unsafe isCanonical($0.span) } ?? false
  }

  /// The host, without port.
  package var host: String {
    let utf8 = text.utf8
    guard let slashes = utf8.firstIndex(of: UInt8(ascii: "/")) else { return "" }
    let rest = utf8[utf8.index(slashes, offsetBy: 2)...]
    if rest.first == UInt8(ascii: "[") {
      return String(rest.prefix { $0 != UInt8(ascii: "]") } .dropFirst()) ?? ""
    }
    return String(rest.prefix { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }) ?? ""
  }

  // MARK: The scan

  private static func isCanonical(_ bytes: Span<UInt8>) -> Bool {
    guard let authority = authorityStart(bytes),
      let path = hostEnd(bytes, from: authority, isSecure: authority == 8),
      path < bytes.count, bytes[path] == UInt8(ascii: "/")
    else { return false }
    return hasPlainPath(bytes, from: path)
  }

  private static func authorityStart(_ bytes: Span<UInt8>) -> Int? {
    guard bytes.count > 8, bytes[0] == UInt8(ascii: "h"), bytes[1] == UInt8(ascii: "t"),
      bytes[2] == UInt8(ascii: "t"), bytes[3] == UInt8(ascii: "p")
    else { return nil }
    let colon = bytes[4] == UInt8(ascii: "s") ? 5 : 4
    guard bytes[colon] == UInt8(ascii: ":"), bytes[colon + 1] == UInt8(ascii: "/"),
      bytes[colon + 2] == UInt8(ascii: "/")
    else { return nil }
    return colon + 3
  }

  /// Over a host of plain letters and digits, and a port that is not the default one.
  private static func hostEnd(_ bytes: Span<UInt8>, from start: Int, isSecure: Bool) -> Int? {
    var index = start
    while index < bytes.count, isPlainHostByte(bytes[index]) { index += 1 }
    guard index > start, index < bytes.count else { return nil }
    guard bytes[index] == UInt8(ascii: ":") else { return index }
    var port = 0
    let digits = index + 1
    index = digits
    while index < bytes.count, 0x30...0x39 ~= bytes[index], index < digits + 5 {
      port = port * 10 + Int(bytes[index] - 0x30)
      index += 1
    }
    guard index > digits, bytes[digits] != 0x30, port <= 65_535 else { return nil }
    return port == (isSecure ? 443 : 80) ? nil : index
  }

  @inline(__always)
  private static func isPlainHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// No fragment, nothing that is encoded, and no segment that begins with a dot.
  private static func hasPlainPath(_ bytes: Span<UInt8>, from start: Int) -> Bool {
    var index = start
    var isInPath = true
    while index < bytes.count {
      let byte = bytes[index]
      guard byte > 0x20, byte < 0x7F, byte != UInt8(ascii: "#") else { return false }
      if byte == UInt8(ascii: "?") { isInPath = false }
      let beginsSegment = isInPath && byte == UInt8(ascii: "/") && index + 1 < bytes.count
      if beginsSegment, bytes[index + 1] == UInt8(ascii: ".") { return false }
      if isInPath, byte == UInt8(ascii: "%"), mayEncodeDot(bytes, at: index) { return false }
      index += 1
    }
    return true
  }

  /// An encoded dot can make a dot segment too.
  private static func mayEncodeDot(_ bytes: Span<UInt8>, at index: Int) -> Bool {
    guard index + 2 < bytes.count else { return true }
    return bytes[index + 1] == UInt8(ascii: "2") && bytes[index + 2] | 0x20 == UInt8(ascii: "e")
  }

  // MARK: Refusals that need no parser

  private static func refuse(_ text: String) throws(URLProblem) {
    guard !text.isEmpty else { throw .bad(reason: "the URL is empty") }
    guard text.utf8.count <= longest else {
      throw .bad(reason: "the URL has \(text.utf8.count) bytes; at most \(longest) are taken")
    }
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .bad(reason: "the URL has a space or a control character: write it percent-encoded")
    }
    guard let scheme = scheme(of: text) else {
      throw .bad(reason: "\(text) has no scheme: write http:// or https:// before it")
    }
    guard scheme == "http" || scheme == "https" else { throw .blockedScheme(scheme) }
  }

  private static func scheme(of text: String) -> String? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), colon != text.startIndex else {
      return nil
    }
    let scheme = text[..<colon].lowercased()
    let isScheme = scheme.utf8.allSatisfy { byte in
      isPlainHostByte(byte) || byte == UInt8(ascii: "+")
    }
    // "localhost:8080/a" has a port there, not a path.
    let rest = text[colon...].dropFirst()
    let looksLikePort = rest.utf8.first.map { 0x30...0x39 ~= $0 } ?? false
    return isScheme && !looksLikePort ? scheme : nil
  }
}
