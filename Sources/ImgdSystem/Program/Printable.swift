/// Foreign text made safe to print: characters that control a terminal, turn text around or hide in it are
/// escaped, as in `\x1b` and `\u202e`, and the text is cut at `longest` characters.
package func printable(_ text: String, longest: Int = .max) -> String {
  let scalars = text.unicodeScalars
  var shown = ""
  for scalar in scalars.prefix(longest) {
    if isShown(scalar) { shown.unicodeScalars.append(scalar) } else { shown += escape(scalar) }
  }
  return scalars.dropFirst(longest).isEmpty ? shown : shown + "…"
}

private func escape(_ scalar: Unicode.Scalar) -> String {
  let digits = String(scalar.value, radix: 16)
  let isShort = scalar.value < 0x100
  return (isShort ? "\\x" : "\\u") + String(repeating: "0", count: max(0, (isShort ? 2 : 4) - digits.count)) + digits
}

private func isShown(_ scalar: Unicode.Scalar) -> Bool {
  switch scalar.properties.generalCategory {
  case .control, .format, .lineSeparator, .paragraphSeparator: false
  default: true
  }
}
