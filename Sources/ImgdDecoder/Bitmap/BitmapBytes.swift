import ImgdDecode

/// Numbers of a bitmap; a place outside means that the data end too early.
extension Span<UInt8> {
  func at(_ place: Int) throws(DecodeFailure) -> UInt8 {
    guard place >= 0, place < count else { throw DecodeFailure(.damaged, "the data end too early") }
    return self[place]
  }

  func little16(_ place: Int) throws(DecodeFailure) -> Int { Int(try at(place)) | Int(try at(place + 1)) << 8 }

  func little32(_ place: Int) throws(DecodeFailure) -> Int { try little16(place) | (try little16(place + 2)) << 16 }

  func signed32(_ place: Int) throws(DecodeFailure) -> Int { Int(Int32(truncatingIfNeeded: try little32(place))) }
}
