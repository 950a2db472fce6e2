import ImgdProgram
import ImgdSystem

extension ValueFormat where Value == Share {
  /// Bytes, or a percentage of another amount.
  static var share: Self {
    Self { text throws(WrongValue) in
      if text.hasSuffix("%") { return .percent(try ValueFormat<Int>.percentage(1...100).parse(text)) }
      guard let bytes = SizeText.bytes(text) else {
        throw WrongValue("is neither a size nor a percentage: write one such as 25M or 25%")
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
          "is neither auto nor a number: write auto, or " + "\(limits.lowerBound) to \(limits.upperBound)")
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
