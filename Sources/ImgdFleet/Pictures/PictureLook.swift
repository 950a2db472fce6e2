internal import ImgdCache
internal import ImgdSystem

/// A look-up under way, or the wish that a stored picture is confirmed.
final class PictureLook {
  let serial: UInt64
  /// What it claims with; only the server's answer says whether it has it.
  let claim: PictureClaim
  /// Whether it claims the picture, and waits for another host that has done so.
  var claims: Bool
  /// The stamp of the picture in whose place another one is wanted; nil where any will do.
  var old: UInt64?
  private var isOver = false
  /// Whether another host fetches the picture.
  var isHeld = false
  /// Whether a value that was of no use has been found: another one is not looked for.
  var hasFoundDefect = false
  /// How often it has looked while the picture was held.
  var polls = 0
  /// Whether an answer of the server is on its way.
  var isAsking = false
  /// Whether it was woken in the meantime: that answer may be older.
  var isWoken = false
  var nextPoll: Timer?
  var end: Timer?

  init(serial: UInt64, _ claim: PictureClaim, claims: Bool, old: UInt64? = nil) {
    self.serial = serial
    self.claim = claim
    self.claims = claims
    self.old = old
  }

  var digest: KeyDigest { claim.digest }

  /// Until it is answered or given up.
  var isUnderWay: Bool { !isOver }

  /// Ends it; false when it was over.
  func finish() -> Bool {
    defer { isOver = true }
    nextPoll?.cancel()
    end?.cancel()
    return !isOver
  }
}
