import ImgdSystem
import ImgdTestSupport

/// The pictures of the origin, each in one version after another, and the oldest version of each that may still be shown.
///
/// A picture says in its bytes which one it is: its height is its number, its width its version.
final class Gallery: Sendable {
  struct Picture {
    /// What the origin has now.
    var newest = 1
    /// Rises when a purge has been answered.
    var oldest = 1
    /// The same, of the purges that outlive the machine.
    var lasting = 1
    /// The same, of the purges that other hosts have been told of, with the time of each.
    var sent = Fifo<(oldest: Int, at: Instant)>()
    /// The newest of them that they have to have heard of.
    var heard = 1
  }

  static let count = 120
  /// Never purged by itself, so that it is in memory most of the time.
  static let witness = 0

  let diary = Diary()
  private let pictures = Shared([Picture](repeating: Picture(), count: count))
  private let made = Shared<[Int: [(version: Int, bytes: [UInt8])]]>([:])
  /// Noise that no two places of which are alike.
  private let grain: [UInt8]

  init() {
    var noise = Noise(seed: 1)
    grain = noise.bytes(1 << 20)
  }

  static func path(_ number: Int) -> String { "/picture-\(number)" }

  static func number(of path: String) -> Int? {
    path.hasPrefix("/picture-") ? Int(path.dropFirst(9)).flatMap { $0 < count ? $0 : nil } : nil
  }

  /// Every third picture is in the group "third", as its origin says.
  static func isInGroup(_ number: Int) -> Bool { number % 3 == 0 }

  // MARK: Versions

  func newest(_ number: Int) -> Int { pictures.with { $0[number].newest } }
  func oldest(_ number: Int) -> Int { pictures.with { $0[number].oldest } }

  /// The oldest version that other hosts may show when they take no longer than this to hear of a purge.
  func oldest(_ number: Int, heardWithin time: Duration) -> Int {
    let now = Instant.current
    return pictures.with { pictures in
      var heard = pictures[number].heard
      while let first = pictures[number].sent.first, first.at + time < now {
        heard = max(heard, first.oldest)
        _ = pictures[number].sent.popFirst()
      }
      pictures[number].heard = heard
      return heard
    }
  }

  /// Gives pictures new versions, before those from before are purged.
  func publish(_ numbers: [Int]) -> [Int: Int] {
    pictures.with { pictures in
      var versions: [Int: Int] = [:]
      for number in numbers {
        pictures[number].newest += 1
        versions[number] = pictures[number].newest
      }
      return versions
    }
  }

  /// A purge has been answered: older versions may not be shown to any request from now on.
  func raise(_ versions: [Int: Int], isLasting: Bool, isSent: Bool) {
    let now = Instant.current
    pictures.with { pictures in
      for (number, version) in versions {
        if isSent { pictures[number].sent.append((version, now)) }
        pictures[number].oldest = max(pictures[number].oldest, version)
        if isLasting { pictures[number].lasting = max(pictures[number].lasting, version) }
      }
    }
  }

  /// A restart of the machine has taken the purges that waited for the disk.
  func forgetWaitingPurges() {
    pictures.with { pictures in
      for number in pictures.indices { pictures[number].oldest = pictures[number].lasting }
    }
  }

  // MARK: Bytes

  func bytes(_ number: Int, _ version: Int) -> [UInt8] {
    let known = made.with { $0[number]?.first { $0.version == version }?.bytes }
    if let known { return known }
    let bytes = make(number, version)
    made.with { made in
      let others = (made[number] ?? []).filter { $0.version != version }
      // What was shown before may be on its way for a moment.
      made[number] = [(version: version, bytes: bytes)] + others.prefix(2)
    }
    return bytes
  }

  private func make(_ number: Int, _ version: Int) -> [UInt8] {
    let (width, height) = Self.size(number, version)
    let row = [0] + [UInt8](repeating: Self.grey(number, version), count: width)
    let rows = (0..<height).flatMap { _ in row }
    let start = (number * 7919 + version * 104_729) % (grain.count / 2)
    let padding = Array("\(number) \(version) ".utf8) + grain[start..<start + Self.padding(number)]
    return TestPicture.pngSignature + TestPicture.pngHeader(width: width, height: height)
      + TestPicture.pngChunk("paDd", padding) + TestPicture.pngChunk("IDAT", TestPicture.zlib(rows))
      + TestPicture.pngChunk("IEND", [])
  }

  /// As pictures of a page are: most are small, some are large.
  private static func padding(_ number: Int) -> Int {
    switch number % 20 {
    case 0: 28_000
    case 1...9: 600
    case 10...15: 6_000
    case 16...18: 60_000
    default: 400_000
    }
  }

  static func size(_ number: Int, _ version: Int) -> (width: Int, height: Int) {
    (16 + version % versionsApart, 8 + number)
  }

  static func grey(_ number: Int, _ version: Int) -> UInt8 { UInt8(20 + (number * 7 + version * 13) % 200) }

  /// Versions further apart than this look the same.
  private static let versionsApart = 500

  /// The versions up to `newest` that have this width, the newest first.
  static func versions(ofWidth width: Int, newest: Int) -> [Int] {
    let version = newest / versionsApart * versionsApart + width - 16
    let first = version > newest ? version - versionsApart : version
    return Array(stride(from: first, through: 1, by: -versionsApart))
  }
}
