internal import ImgdCache
internal import ImgdSystem

/// A look-up under way, or an attempt to claim a stored picture that has to be confirmed.
final class PictureLook {
  let serial: UInt64
  /// The claim that it attempts; only the server's answer says whether it has it.
  let claim: PictureClaim
  /// Whether it claims the picture, and waits if another host has done so.
  var claims: Bool
  /// The stamp of the picture that is to be replaced; nil if any picture will do.
  var old: UInt64?
  private var isOver = false
  /// Whether another host fetches the picture.
  var isHeld = false
  /// Whether a useless value has been found: after a second one, there is no further look.
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

  /// True until it is answered or given up.
  var isUnderWay: Bool { !isOver }

  /// Ends it; false if it was over.
  func finish() -> Bool {
    defer { isOver = true }
    nextPoll?.cancel()
    end?.cancel()
    return !isOver
  }
}
