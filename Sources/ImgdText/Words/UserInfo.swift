/// A text without the user name and the password of a URL in it, for messages and logs: `http://…@host`.
///
/// A password may hold any character, and a mistyped URL may have no scheme: so everything before the last
/// `@` is left out, except a scheme in front. It is better to show too little than part of a password.
package func withoutUserInfo(_ text: Substring) -> String {
  guard let end = text.utf8.lastIndex(of: UInt8(ascii: "@")) else { return String(text) }
  return scheme(of: text[..<end]) + "…" + text[end...]
}

/// A whole text without the user name and the password of a URL in it.
package func withoutUserInfo(_ text: String) -> String { withoutUserInfo(text[...]) }

/// The beginning of a text up to the `//` of its first URL; empty when it has none.
private func scheme(of text: Substring) -> Substring {
  guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")), text.utf8[..<slash].last == UInt8(ascii: ":"),
    text.utf8[slash...].starts(with: "//".utf8)
  else { return "" }
  return text[...text.utf8.index(after: slash)]
}
