/// A text in which the passwords of URLs are hidden: `http://me:…@host/`.
func withoutPasswords(_ text: String) -> String {
  guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
  let bytes = Array(text.utf8)
  let scheme = Array("://".utf8)
  var shown: [UInt8] = []
  var rest = bytes[...]
  while let start = position(of: scheme, in: rest) {
    shown += rest[..<start]
    rest = rest[start...]
    let authority = rest.prefix { !endsAuthority($0) }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")),
      let colon = authority[..<at].firstIndex(of: UInt8(ascii: ":"))
    {
      shown += rest[...colon] + Array("…".utf8)
      rest = rest[at...]
    }
  }
  return String(decoding: shown + rest, as: UTF8.self)
}

/// Whether a URL has a user name, with a password or without.
func hasUserName(_ url: String) -> Bool {
  let bytes = Array(url.utf8)
  guard let start = position(of: Array("://".utf8), in: bytes[...]) else { return false }
  return bytes[start...].prefix { !endsAuthority($0) }.contains(UInt8(ascii: "@"))
}

/// The position after the first occurrence of some bytes.
private func position(of wanted: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
  var rest = bytes
  while rest.count >= wanted.count {
    if rest.starts(with: wanted) { return rest.startIndex + wanted.count }
    rest = rest.dropFirst()
  }
  return nil
}

/// Whether a byte ends the part of a URL that may have a password; in JSON a quote ends the URL itself.
private func endsAuthority(_ byte: UInt8) -> Bool { byte <= 0x20 || "/?#\\\"'<>".utf8.contains(byte) }
