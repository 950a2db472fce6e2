import Glibc
import ImgdSystem

/// The text form of a key's values; `parse` and `text` are the reverse of each other.
struct ValueFormat<Value>: Sendable {
  let parse: @Sendable (String) throws(WrongValue) -> Value
  let text: @Sendable (Value) -> String
}

/// The reason why a text is not valid; in a message it follows `Section.Key=text`.
struct WrongValue: Error {
  let complaint: String

  init(_ complaint: String) {
    self.complaint = complaint
  }
}

extension ValueFormat where Value == Int {
  /// Bytes within limits.
  static func size(_ limits: ClosedRange<Int>) -> Self {
    Self { text throws(WrongValue) in
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue(
          "is not a size: write bytes or a number with K, M or G, such as 100M")
      }
      guard limits.contains(bytes) else {
        throw outOfRange(
          "size", SizeText.text(limits.lowerBound), SizeText.text(limits.upperBound))
      }
      return bytes
    } text: {
      SizeText.text($0)
    }
  }

  /// A count within limits.
  static func count(_ limits: ClosedRange<Int>) -> Self {
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
  static func percentage(_ limits: ClosedRange<Int>) -> Self {
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

extension ValueFormat where Value == Share {
  /// Bytes, or a percentage of another amount.
  static var share: Self {
    Self { text throws(WrongValue) in
      if text.hasSuffix("%") {
        return .percent(try ValueFormat<Int>.percentage(1...100).parse(text))
      }
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue(
          "is neither a size nor a percentage: write one such as 25M or 25%")
      }
      return .bytes(bytes)
    } text: {
      switch $0 {
      case .bytes(let bytes): SizeText.text(bytes)
      case .percent(let percent): "\(percent)%"
      }
    }
  }

  /// Bytes or a percentage, which may be zero.
  static var reserve: Self {
    Self { text throws(WrongValue) in
      text == "0%" ? .percent(0) : try share.parse(text)
    } text: {
      share.text($0)
    }
  }
}

extension ValueFormat where Value == DiskCapacity {
  /// Bytes within limits, or `auto`.
  static func diskCapacity(_ limits: ClosedRange<Int>) -> Self {
    let size = ValueFormat<Int>.size(limits)
    return Self { text throws(WrongValue) in
      if text == "auto" { return .auto }
      guard SizeText.bytes(text) != nil else {
        throw WrongValue("is neither auto nor a size: write auto, or one such as 2G")
      }
      return .bytes(try size.parse(text))
    } text: {
      switch $0 {
      case .auto: "auto"
      case .bytes(let bytes): size.text(bytes)
      }
    }
  }
}

extension ValueFormat where Value == DecoderCount {
  /// A count within limits, or `auto`.
  static func decoderCount(_ limits: ClosedRange<Int>) -> Self {
    let count = ValueFormat<Int>.count(limits)
    return Self { text throws(WrongValue) in
      if text == "auto" { return .auto }
      guard decimalNumber(text.utf8) != nil else {
        throw WrongValue(
          "is neither auto nor a number: write auto, or "
            + "\(limits.lowerBound) to \(limits.upperBound)")
      }
      return .count(try count.parse(text))
    } text: {
      switch $0 {
      case .auto: "auto"
      case .count(let number): count.text(number)
      }
    }
  }
}

extension ValueFormat where Value == Duration {
  /// A duration within limits, or `off` for zero.
  static func durationOrOff(_ limits: ClosedRange<Duration>) -> Self {
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
  static func duration(_ limits: ClosedRange<Duration>) -> Self {
    Self { text throws(WrongValue) in
      guard let duration = DurationText.duration(text) else {
        throw WrongValue("is not a duration: write one such as 500ms, 30s, 1h 30min or 7d")
      }
      guard limits.contains(duration) else {
        throw outOfRange(
          "duration", DurationText.text(limits.lowerBound), DurationText.text(limits.upperBound))
      }
      return duration
    } text: {
      DurationText.text($0)
    }
  }
}

extension ValueFormat where Value == Bool {
  /// Yes or no, in any spelling of systemd.syntax(7).
  static var boolean: Self {
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
