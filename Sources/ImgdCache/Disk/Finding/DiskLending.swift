internal import ImgdSystem

/// Hands out the paths of images.
///
/// A file that was lent is lent again without any check within the same term, which ends with the
/// second, or when any entry has gone or any file was touched. Its use and its lease are noted in whole
/// seconds, so there would be nothing new to note either.
final class DiskLending: DiskPart {
  let ground: DiskGround
  private let stores: DiskStores
  private let verified: VerifiedFiles
  private let losses: DiskLosses
  /// The tick in which it was last asked what others have done to the files, and the second of that tick.
  private var heardIn: UInt64 = 0
  private var second = 0

  init(_ ground: DiskGround, stores: DiskStores, verified: VerifiedFiles, losses: DiskLosses) {
    self.ground = ground
    self.stores = stores
    self.verified = verified
    self.losses = losses
  }

  /// The number of the current term; both summands only rise, so no two terms have the same number.
  private func term() -> Int {
    if heardIn != loop.tickCount {
      heardIn = loop.tickCount
      second = Int(rules.wall)
      verified.hear()
    }
    return verified.changeCount + second
  }

  /// Leases the file of an image, if it is there; an image without a file is written, if it may be.
  func lend(_ image: CachedImage, mayStore: Bool, countsAsUse: Bool) -> PathLending {
    if let refusal = health.absence { return .refused(refusal) }
    if stores.contains(image) { return .waiting }
    if image.file == nil { reunite(image) }
    if let file = image.file, let entry = files.entry(of: file) {
      switch verified.check(entry, at: file.place) {
      case .sound:
        if countsAsUse { uses.note(file.place) }
        leases.lease(file.place)
        return .lent
      case .wouldWait, .unknown: return .waiting
      case .missing: losses.missing(file.place)
      case .damaged: losses.damaged(file.place, "it is not the file that was stored")
      }
    }
    guard mayStore else { return .refused(.lost) }
    if let refusal = stores.add(image) { return .refused(refusal) }
    return .waiting
  }

  /// Leases the file of an image if nothing has to be found out first; nil if `lend` has to be called.
  func lendAgain(_ image: CachedImage) -> StoredFile? {
    guard health.isUp, stores.isEmpty || !stores.contains(image), let file = image.file else { return nil }
    let term = term()
    if file.term == term { return file }
    guard files.holds(file), verified.isSound(file.place) else { return nil }
    uses.note(file.place)
    leases.lease(file.place)
    file.term = term
    return file
  }

  /// Calls back when it is known whether there is a file; only for an image for which `lend` returned `waiting`.
  func whenSettled(_ image: CachedImage, _ action: @escaping () -> Void) {
    if stores.whenSettled(image, action) { return }
    if let file = image.file, verified.whenChecked(file.number, action) { return }
    action()
  }

  /// Finds the file of an image that an earlier process has left in memory, if it is still there.
  private func reunite(_ image: CachedImage) {
    guard image.formerFile != 0, let digest = image.digest,
      let place = index.place(of: digest, number: image.formerFile)
    else { return }
    let entry = index[place]
    guard Int(entry.bytes) == image.byteCount else { return }
    image.file = files.stored(entry, at: place)
  }
}
