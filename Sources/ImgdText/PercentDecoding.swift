/// The bytes that a text stands for in a URL: `%41` is `A`. What only looks like an escape stays as it is.
package func percentDecoded(_ text: ArraySlice<UInt8>) -> [UInt8] {
  guard text.contains(UInt8(ascii: "%")) else { return Array(text) }
  var decoded: [UInt8] = []
  var rest = text
  while let byte = rest.popFirst() {
    if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexValue),
      let low = rest.dropFirst().first.flatMap(hexValue)
    {
      decoded.append(high << 4 | low)
      rest = rest.dropFirst(2)
    } else {
      decoded.append(byte)
    }
  }
  return decoded
}

private func hexValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}
