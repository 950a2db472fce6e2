internal import ImgdSystem

/// The text form of a key's values; `parse` and `text` are inverses of each other.
package struct ValueFormat<Value>: Sendable {
  package let parse: @Sendable (String) throws(WrongValue) -> Value
  package let text: @Sendable (Value) -> String

  package init(
    parse: @escaping @Sendable (String) throws(WrongValue) -> Value, text: @escaping @Sendable (Value) -> String
  ) {
    self.parse = parse
    self.text = text
  }
}

/// The reason why a text is not valid; in a message it follows `Section.Key=text`.
package struct WrongValue: Error {
  package let complaint: String

  package init(_ complaint: String) { self.complaint = complaint }
}

extension ValueFormat where Value == Int {
  /// Bytes within limits.
  package static func size(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue("is not a size: write bytes or a number with K, M or G, such as 100M")
      }
      guard limits.contains(bytes) else {
        throw outOfRange("size", SizeText.text(limits.lowerBound), SizeText.text(limits.upperBound))
      }
      return bytes
    } text: {
      SizeText.text($0)
    }
  }

  /// A count within limits.
  package static func count(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard let number = decimalNumber(text.utf8) else {
        throw WrongValue("is not a number: write \(limits.lowerBound) to \(limits.upperBound)")
      }
      guard limits.contains(number) else {
        throw outOfRange("number", String(limits.lowerBound), String(limits.upperBound))
      }
      return number
    } text: {
      String($0)
    }
  }

  /// A percentage within limits, written with a percent sign.
  package static func percentage(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard text.hasSuffix("%"), let number = decimalNumber(text.utf8.dropLast()) else {
        throw WrongValue("is not a percentage: write a number with %, such as 10%")
      }
      guard limits.contains(number) else {
        throw outOfRange("percentage", "\(limits.lowerBound)%", "\(limits.upperBound)%")
      }
      return number
    } text: {
      "\($0)%"
    }
  }
}

extension ValueFormat where Value == Duration {
  /// A duration within limits, or `off` for zero.
  package static func durationOrOff(_ limits: ClosedRange<Duration>) -> Self {
    Self { text throws(WrongValue) in
      if text.lowercased() == "off" { return .zero }
      guard DurationText.duration(text) != nil else {
        throw WrongValue("is neither off nor a duration: write off, or one such as 1h or 7d")
      }
      return try duration(limits).parse(text)
    } text: {
      $0 == .zero ? "off" : duration(limits).text($0)
    }
  }

  /// A duration within limits.
  package static func duration(_ limits: ClosedRange<Duration>) -> Self {
    Self { text throws(WrongValue) in
      guard let duration = DurationText.duration(text) else {
        throw WrongValue("is not a duration: write one such as 500ms, 30s, 1h 30min or 7d")
      }
      guard limits.contains(duration) else {
        throw outOfRange("duration", DurationText.text(limits.lowerBound), DurationText.text(limits.upperBound))
      }
      return duration
    } text: {
      DurationText.text($0)
    }
  }
}

extension ValueFormat where Value == Bool {
  /// Yes or no, in any spelling of systemd.syntax(7).
  package static var boolean: Self {
    Self { text throws(WrongValue) in
      switch text.lowercased() {
      case "yes", "true", "on", "1": return true
      case "no", "false", "off", "0": return false
      default: throw WrongValue("is neither yes nor no: write yes or no")
      }
    } text: {
      $0 ? "yes" : "no"
    }
  }
}

private func outOfRange(_ kind: String, _ least: String, _ most: String) -> WrongValue {
  WrongValue("is out of range: write a \(kind) from \(least) to \(most)")
}
