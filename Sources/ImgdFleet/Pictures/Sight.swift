internal import ImgdCache

/// What the server has under a picture's key.
enum Sight {
  case nothing
  /// The claim of some host.
  case claim
  case value(FleetValue)
  /// A picture that is larger than this host takes; others may take it.
  case beyondLimit
  /// A value that is of no use to anybody. `front` is its first bytes; empty if it is not a string.
  case defect(FleetDefect, front: [UInt8])
  /// The server's answer was an error, or made no sense; this says which.
  case refused(String)

  /// Classifies the reply to a `GETRANGE` of one byte more than the longest value.
  init(_ reply: RedisReply, under digest: KeyDigest, mostBytes: Int) {
    switch reply {
    case .bytes(let bytes): self = Self.sight(of: bytes, digest, mostBytes)
    case .failure(let text) where text.hasPrefix("WRONGTYPE"): self = .defect(.foreign, front: [])
    case .failure(let text): self = .refused(text)
    default: self = .refused("it has sent no string for a string")
    }
  }

  private static func sight(of bytes: [UInt8], _ digest: KeyDigest, _ mostBytes: Int) -> Sight {
    guard let first = bytes.first else { return .nothing }
    if first == PictureClaim.sign { return .claim }
    let front = Array(bytes.prefix(FleetValue.headLength))
    guard bytes.count <= mostBytes else {
      let head = FleetValue.Head(bytes.span)
      return head.map(isWhole) == true ? .beyondLimit : .defect(.tooLarge, front: front)
    }
    switch FleetValue.decode(bytes, under: digest) {
    case .success(let value): return .value(value)
    case .failure(.foreign): return .defect(.foreign, front: front)
    case .failure(.damaged): return .defect(.damaged, front: front)
    }
  }

  /// Whether a value that was not read to its end may be sound.
  private static func isWhole(_ head: FleetValue.Head) -> Bool { head.bodyCount <= 512 << 20 }
}
