import ImgdSystem
import ImgdWire

/// The fetches that have failed last.
///
/// A failure like an earlier one of the same user and URL is counted with it and becomes the newest again. A user may
/// have a share of the places (`Access`), and what is kept of a failure is cut: so one user's failures never take the
/// place of all others', and all of them together are a quarter of a megabyte at most.
final class RecentFailures {
  static let most = 128
  private static let (longestURL, longestMessage) = (1_024, 512)

  struct Failure {
    /// Rises with each failure.
    var number: UInt64
    let uid: UInt32
    let url: String
    let code: ReplyCode
    var message: String
    var status: Int?
    var times = 1
    /// When it happened last, in seconds since 1970.
    var last: Int64

    fileprivate var cost: Int { 128 + url.utf8.count + message.utf8.count }
  }

  private let access: Access
  /// The oldest first.
  private var kept: [Failure] = []
  private var count: UInt64 = 0
  private(set) var heldBytes = 0

  init(_ access: Access) { self.access = access }

  func add(_ error: WireError, of url: String, for uid: UInt32) {
    count += 1
    var failure = Failure(
      number: count, uid: uid, url: Self.beginning(of: url, Self.longestURL), code: error.code,
      message: Self.beginning(of: error.message, Self.longestMessage),
      status: error.details.first { $0.name == "status" }?.value.integer.map { Int($0) }, last: WallClock.seconds)
    if let same = kept.lastIndex(where: { $0.uid == uid && $0.code == failure.code && $0.url == failure.url }) {
      failure.times += kept[same].times
      remove(same)
    }
    kept.append(failure)
    heldBytes += failure.cost
    let own = kept.lazy.filter { $0.uid == uid }.count
    if own > access.share(of: uid, in: Self.most), let oldest = kept.firstIndex(where: { $0.uid == uid }) {
      remove(oldest)
    } else if kept.count > Self.most {
      remove(0)
    }
  }

  /// The failures with lower numbers than `number`, the newest first.
  func before(_ number: UInt64) -> some Sequence<Failure> { kept.reversed().lazy.filter { $0.number < number } }

  private func remove(_ place: Int) { heldBytes -= kept.remove(at: place).cost }

  /// At most so many bytes of a text, cut between characters.
  private static func beginning(of text: String, _ most: Int) -> String {
    guard text.utf8.count > most else { return text }
    let end = text.unicodeScalars.index(before: text.utf8.index(text.startIndex, offsetBy: most - 3))
    return text[..<end] + "…"
  }
}
