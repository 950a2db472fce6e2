/// Purges that wait for a disk that works, since they could neither be written into the index nor find their entries.
///
/// They are written down in a file of their own (`OwedFile`), so that a kill does not lose them, and their
/// clients are told how that went. The tier is down as long as there are any.
final class OwedPurges: DiskPart {
  /// How many may wait; if there are more, a purge of everything takes their place.
  private static let most = 64

  let ground: DiskGround
  private let tools: RemovalTools
  private var works: [PurgeWork] = []
  /// Purges whose clients still have to be answered.
  private var untold: [PurgeWork] = []
  /// Purges that have been taken up again, but are neither in the index file nor carried out yet.
  private var doubtful: [ObjectIdentifier: PurgeWork] = [:]
  private var isWriting = false
  private var isDirty = false
  /// Whether the file has purges.
  private var isFileInUse = false

  init(_ ground: DiskGround, tools: RemovalTools) {
    self.ground = ground
    self.tools = tools
  }

  var isEmpty: Bool { works.isEmpty }

  /// Every purge that may not be in the index file.
  var all: [PurgeWork] { works + doubtful.values }

  // MARK: Coming and going

  /// Puts purges off until the disk works again.
  func add(_ more: [PurgeWork]) {
    guard !more.isEmpty else { return }
    for work in more {
      doubtful[ObjectIdentifier(work)] = nil
      work.beginAnew()
      pending.add(work)
    }
    works += more
    untold += more.filter(\.isAwaited)
    limit()
    // Nothing may be shown that they may cover.
    health.worsen(to: .down, isFull: health.isFull)
    isDirty = true
    writeDown()
  }

  private func limit() {
    guard works.count > Self.most else { return }
    for work in works { pending.remove(work) }
    let clearing = PurgeWork(tools.order(PurgeFilter()), with: tools)
    pending.add(clearing)
    works = [clearing]
  }

  /// Hands the purges out, to be tried again.
  func takeUp() -> [PurgeWork] {
    defer { works = [] }
    if isFileInUse || isWriting { for work in works { doubtful[ObjectIdentifier(work)] = work } }
    return works
  }

  /// Notes that a purge is in the index file, or has been carried out.
  func settle(_ work: PurgeWork) {
    guard doubtful.removeValue(forKey: ObjectIdentifier(work)) != nil else { return }
    forgetFile()
  }

  /// Takes note of purges that were found in the file at the start, and are tried again.
  func adopt(_ more: [PurgeWork]) {
    guard !more.isEmpty else { return }
    isFileInUse = true
    for work in more { doubtful[ObjectIdentifier(work)] = work }
  }

  private func forgetFile() {
    guard isFileInUse, !isWriting, works.isEmpty, doubtful.isEmpty else { return }
    isFileInUse = false
    threads.forgetOwed()
  }

  // MARK: The file

  private func writeDown() {
    guard isDirty, !isWriting else { return }
    (isDirty, isWriting) = (false, true)
    let told = untold
    untold = []
    threads.keepOwed(all.map(\.order)) { [unowned self] trouble in
      isWriting = false
      if trouble == nil { isFileInUse = true }
      for work in told { work.tell(PurgeOutcome(trouble)) }
      writeDown()
      forgetFile()
    }
  }
}

extension PurgeOutcome {
  fileprivate init(_ trouble: DiskTrouble?) {
    guard let trouble else {
      self = .pending
      return
    }
    self = .unrecorded(reason: trouble.reason, isFull: trouble.kind == .full)
  }
}
