/// Signatures in texts of strangers, who may write one where no target has it: behind the end of a target, in the target
/// of another request, in `Referer`.
enum Signatures {
  /// So much of one is shown.
  private static let shown = 6
  private static let name = Array("signature".utf8)

  /// A text with no more than the beginning of what may be a signature.
  static func shortened(in text: String) -> String {
    let bytes = Array(text.utf8)
    var cuts = valuesOfParameters(in: bytes)
    if let first = firstStep(of: bytes) { cuts.append(first) }
    cuts = cuts.filter { $0.count > shown }
    guard !cuts.isEmpty else { return text }
    var result: [UInt8] = []
    var place = 0
    for cut in cuts.sorted(by: { $0.lowerBound < $1.lowerBound }) where cut.lowerBound >= place {
      result += bytes[place..<cut.lowerBound + shown] + Array("...".utf8)
      place = cut.upperBound
    }
    return String(decoding: result + bytes[place...], as: UTF8.self)
  }

  /// What follows `signature=`, also where its sign is escaped.
  private static func valuesOfParameters(in bytes: [UInt8]) -> [Range<Int>] {
    guard bytes.count > name.count else { return [] }
    var values: [Range<Int>] = []
    for start in 0..<bytes.count - name.count where bytes[start] | 0x20 == name[0] {
      guard bytes[start..<start + name.count].elementsEqual(name, by: { $0 | 0x20 == $1 }) else { continue }
      let rest = bytes[(start + name.count)...]
      guard let sign = ["=", "%3D", "%3d"].first(where: { rest.starts(with: $0.utf8) }) else { continue }
      let value = rest.dropFirst(sign.utf8.count)
      values.append(value.startIndex..<(value.firstIndex { !isLetter($0) } ?? value.endIndex))
    }
    return values
  }

  /// The first step of a path in the form of imgproxy, which is its signature.
  private static func firstStep(of bytes: [UInt8]) -> Range<Int>? {
    let slash = UInt8(ascii: "/")
    var path = bytes[...]
    if bytes.first != slash {
      guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8),
        let start = bytes[(colon + 3)...].firstIndex(of: slash)
      else { return nil }
      path = bytes[start...]
    }
    path = path.drop { $0 == slash }
    guard let end = path.firstIndex(where: { !isLetter($0) }), path[end] == slash else { return nil }
    let rest = path[(end + 1)...]
    let isForm =
      rest.starts(with: "plain/".utf8) || rest.starts(with: "aHR0c".utf8) || rest.starts(with: "czM6L".utf8)
      || rest.prefix { $0 != slash }.contains(UInt8(ascii: ":"))
    return isForm && !PathForm.none.contains(String(decoding: path[..<end], as: UTF8.self))
      ? path.startIndex..<end : nil
  }

  /// Whether a byte is one of base64url.
  private static func isLetter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 48...57: true
    case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "="): true
    default: false
    }
  }
}
