import Glibc
import ImgdDecode

/// The bytes of the pictures that wait for a decoder or are with one: they are held in memory until then,
/// whatever goes from the tiers.
///
/// Downloads bring pictures faster than decoders take them. Of the limit a user may have a half; root and the
/// user that the daemon runs as may have all.
struct WaitingPictures {
  static let mostBytes = 256 << 20

  private(set) var bytes = 0
  private var users: [UInt32: Int] = [:]
  private let owner: UInt32

  init(owner: UInt32 = geteuid()) { self.owner = owner }

  /// Why so many bytes more may not wait; nil if they may. The first picture of a user always may.
  func refusal(of count: Int, by uid: UInt32) -> DecodeFailure? {
    let own = users[uid, default: 0]
    let share = uid == 0 || uid == owner ? Self.mostBytes : Self.mostBytes / 2
    guard own > 0, own + count > share || bytes + count > Self.mostBytes else { return nil }
    return DecodeFailure(
      .queueFull,
      "pictures of \(own >> 20) MB wait for a decoder, which is about the limit of \(share >> 20) MB: "
        + "the picture is cached, ask again in a moment")
  }

  mutating func begin(_ count: Int, by uid: UInt32) { change(count, uid) }

  mutating func end(_ count: Int, by uid: UInt32) { change(-count, uid) }

  private mutating func change(_ count: Int, _ uid: UInt32) {
    bytes += count
    let own = users[uid, default: 0] + count
    users[uid] = own > 0 ? own : nil
  }
}
