internal import ImgdText
internal import ImgdWire

/// The formats that a client takes beyond those that every client takes (RFC 9110, 12.5.1).
struct AcceptedFormats {
  /// Further members are ignored.
  private static let most = 128

  /// The weights of formats by their names, in thousandths.
  private var weights: [String: Int] = [:]

  /// Reads the values of `Accept`. A range of all pictures says nothing about new formats: browsers that lack them have
  /// always sent it.
  init(_ values: [String]) {
    var count = 0
    for value in values {
      var scanner = FieldScanner(value)
      repeat {
        count += 1
        guard count <= Self.most else { return }
        readRange(&scanner)
      } while scanner.nextMember()
    }
  }

  private mutating func readRange(_ scanner: inout FieldScanner) {
    scanner.skipBlanks()
    guard scanner.takeToken() == "image", scanner.takeByte(UInt8(ascii: "/")), let name = scanner.takeToken(),
      let weight = Self.weight(&scanner)
    else { return }
    weights[name] = max(weights[name] ?? 0, weight)
  }

  /// The format for the client, of those that can be written; nil for the picture as it is.
  func choice(of writable: Set<String>) -> OutputFormat? {
    let (avif, webp) = (weight(of: .avif, writable), weight(of: .webp, writable))
    if avif > 0, avif >= webp { return .avif }
    return webp > 0 ? .webp : nil
  }

  private func weight(of format: OutputFormat, _ writable: Set<String>) -> Int {
    writable.contains(format.rawValue) ? weights[format.rawValue] ?? 0 : 0
  }

  /// The weight after a range, which is one if it is left out; nil if it cannot be read.
  private static func weight(_ scanner: inout FieldScanner) -> Int? {
    scanner.skipBlanks()
    while scanner.takeByte(UInt8(ascii: ";")) {
      scanner.skipBlanks()
      guard let name = scanner.takeToken() else { continue }
      guard scanner.takeByte(UInt8(ascii: "=")) else { return nil }
      if name == "q" { return scanner.takeWrittenToken().flatMap(thousandths) }
      guard scanner.takeToken() != nil || scanner.takeQuoted() != nil else { return nil }
      scanner.skipBlanks()
    }
    return scanner.isAtMemberEnd ? 1_000 : nil
  }

  /// `0`, `0.5`, `1.000` and the like.
  private static func thousandths(_ text: String) -> Int? {
    let digits = Array(text.utf8)
    guard !digits.isEmpty, digits.count <= 5, digits.count == 1 || digits[1] == UInt8(ascii: "."),
      let whole = decimalValue(digits[0]), whole < 2
    else { return nil }
    var (sum, place) = (whole * 1_000, 100)
    for digit in digits.dropFirst(2) {
      guard let value = decimalValue(digit) else { return nil }
      sum += value * place
      place /= 10
    }
    return sum <= 1_000 ? sum : nil
  }
}
