import ImgdDecode
import ImgdWire

/// What an answer shows in place of a picture until it is there, or the reason why there is nothing.
enum Placeholder {
  case description(PictureDescription)
  case failure(DecodeFailure)
}

extension PictureDescription {
  /// The form in which it is kept with its picture: the mean colour, then the hash.
  var packed: [UInt8] { average + thumbHash }

  /// Nil for anything other than what `packed` gives.
  init?(packed: [UInt8]) {
    guard packed.count > 4, packed.count <= 64 else { return nil }
    self.init(thumbHash: Array(packed[4...]), average: Array(packed[..<4]))
  }

  /// The mean colour as CSS writes it; with its alpha where it is not opaque.
  var averageText: String {
    var digits = Array("#".utf8)
    for part in average.last == 255 ? average.dropLast() : average[...] {
      for digit in [part >> 4, part & 15] {
        digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }
}

extension JSONWriter {
  /// Writes the fields of a placeholder, in an answer or in an event.
  mutating func placeholder(_ placeholder: Placeholder) {
    switch placeholder {
    case .description(let description):
      field("thumbhash", base64: description.thumbHash.span)
      field("average", description.averageText)
    case .failure(let failure):
      fieldNull("thumbhash")
      fieldNull("average")
      field("describe_note", failure.reason)
    }
  }
}
