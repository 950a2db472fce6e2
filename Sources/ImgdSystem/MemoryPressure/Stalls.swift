/// How long tasks have waited for memory, from the kernel's pressure stall information (PSI).
struct Stalls: Equatable {
  /// The share of the last ten seconds, in hundredths of a per cent.
  let recent: Int
  /// The time since the machine started, in microseconds.
  let total: Int

  /// Whether some task has waited for more than one hundredth of the last ten seconds.
  var isPressure: Bool { recent >= 100 }

  init?(readFrom path: String) {
    guard let text = SmallFile.text(path) else { return nil }
    self.init(text)
  }

  /// Reads `some avg10=0.12 avg60=… avg300=… total=345`, which the kernel writes first.
  init?(_ text: String) {
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("some ") }),
      let recent = Self.value(of: "avg10=", in: line).flatMap(Self.hundredths),
      let total = Self.value(of: "total=", in: line).flatMap({ decimalNumber($0.utf8) })
    else { return nil }
    self.recent = recent
    self.total = total
  }

  private static func value(of name: String, in line: Substring) -> Substring? {
    line.split(separator: " ").first { $0.hasPrefix(name) }?.dropFirst(name.utf8.count)
  }

  /// A number with two digits after its point, read without the point.
  private static func hundredths(_ text: Substring) -> Int? {
    guard text.utf8.dropLast(2).last == UInt8(ascii: ".") else { return nil }
    return decimalNumber(Array(text.utf8.dropLast(3)) + text.utf8.suffix(2))
  }
}
