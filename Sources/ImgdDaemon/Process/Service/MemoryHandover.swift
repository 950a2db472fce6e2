import ImgdCache
import ImgdPicture
import ImgdProgram
import ImgdSystem

/// Leaves the hottest pictures with the service manager at a stop, and takes over those of the previous daemon.
///
/// The manager keeps descriptors through a restart, and after a crash too. Pictures of a daemon that
/// crashed are not taken over: they may be the reason for the crash.
///
/// The store is changed on the service thread, one change at a time.
final class MemoryHandover {
  static let indexName = "imgd-index"
  static let bodiesName = "imgd-hot"
  /// How long the manager may take to process the last change.
  private static let timeToProcess = Duration.seconds(2)
  /// The pause before a removal that the manager did not receive is tried again.
  private static let retryPause = Duration.seconds(1)

  private let manager: SystemdMessenger
  private let core: Core
  private var memory: MemoryTier { core.memory }
  private let loop: EventLoop
  private let mostDescriptors: Int
  /// Whether the manager may hold descriptors of ours.
  private var mayBeStored: Bool
  private var isChanging = false
  /// Whether the store is to be emptied after the change that is under way.
  private var isRemovalDue = false
  private var retry: Timer?
  private var indices: [Payload]
  private var bodies: [Payload]

  /// `mostDescriptors` is how many the manager is willing to keep. The previous daemon's descriptors
  /// are removed from the manager's store at once: if this start fails, the next one must not find them.
  init(
    _ manager: SystemdMessenger, of core: Core, mostDescriptors: Int, inheriting inherited: [InheritedDescriptor],
    loop: EventLoop
  ) {
    indices = Self.payloads(inherited, named: Self.indexName)
    bodies = Self.payloads(inherited, named: Self.bodiesName)
    mayBeStored = !inherited.isEmpty
    self.manager = manager
    self.core = core
    self.mostDescriptors = manager.hasManager ? mostDescriptors : 0
    self.loop = loop
    forget()
  }

  /// Leaves a snapshot, which counts only if a clean stop follows, unless an earlier change waits for the manager.
  func leaveSnapshot() {
    guard !isChanging, let change = replacement(isClean: false) else { return }
    begin(change)
  }

  /// Leaves everything that is to be taken over; the memory tier must not change afterwards.
  func leaveForGood() {
    retry?.cancel()
    let change = replacement(isClean: true)
    guard change != nil || mayBeStored || isChanging else { return }
    manager.perform { notifier in
      _ = change?.perform(with: notifier)
      return notifier.waitUntilProcessed(atMost: Self.timeToProcess)
    }
  }

  /// Removes the stored pictures, when they are no longer to be taken over, or memory is needed.
  func forget() {
    retry?.cancel()
    guard mayBeStored || isChanging, manager.hasManager else { return }
    guard !isChanging else { return isRemovalDue = true }
    begin(StoreChange(removesFirst: true, replacement: nil))
  }

  private func replacement(isClean: Bool) -> StoreChange? {
    guard mostDescriptors > 0 else { return nil }
    let limits = HandoverLimits(descriptors: mostDescriptors, bytes: memory.limits.preferred)
    let handover = try? memory.handover(
      within: limits, isClean: isClean, at: loop.now, wall: WallClock.seconds)
    let replacement = handover.map { StoreChange.Content(index: $0.index, bodies: $0.bodies) }
    let removesFirst = mayBeStored || isChanging
    guard removesFirst || replacement != nil else { return nil }
    return StoreChange(removesFirst: removesFirst, replacement: replacement)
  }

  private func begin(_ change: StoreChange) {
    isChanging = true
    manager.perform(change.perform) { [weak self] in self?.endChange($0) }
  }

  private func endChange(_ outcome: StoreChange.Outcome) {
    isChanging = false
    mayBeStored = outcome != .empty
    if isRemovalDue {
      isRemovalDue = false
      forget()
    } else if outcome == .failed {
      retry = loop.schedule(after: Self.retryPause) { [unowned self] in forget() }
    }
  }

  func takeOver() {
    defer { (indices, bodies) = ([], []) }
    // With several indices it is unknown which is the latest.
    guard indices.count == 1, let index = indices.first else { return }
    do throws(HandoverProblem) {
      _ = try memory.takeOver(
        index: index, bodies: bodies, at: loop.now, wall: WallClock.seconds,
        isKnown: { PictureFormat(rawValue: $0.format) != nil }, taken: { core.inherit($0) })
      core.removeFormerKeys()
    } catch {
      Log.notice(
        .handover, "the memory tier begins empty: \(error.description)", .code(.handoverRefused))
    }
  }

  /// Memfds that are not sealed are closed.
  private static func payloads(_ inherited: [InheritedDescriptor], named name: String) -> [Payload] {
    inherited.filter { $0.name == name }.compactMap { Payload.adopt(FileDescriptor(owning: $0.number)) }
  }
}

/// One change of the manager's store: the old descriptors are removed, the new ones stored.
private struct StoreChange: Sendable {
  struct Content: Sendable {
    let index: Payload
    let bodies: [Payload]
  }

  enum Outcome: Sendable {
    case stored
    case empty
    /// The manager may hold something that is not to be taken over.
    case failed
  }

  let removesFirst: Bool
  let replacement: Content?

  func perform(with notifier: SystemdNotifier) -> Outcome {
    // Beside an old index a new one would be one of two, and neither would count.
    if removesFirst, !remove(with: notifier) { return .failed }
    guard let replacement else { return .empty }
    // The index first: descriptors beyond the manager's limit are lost, which only bodies may be.
    if notifier.store([replacement.index], named: MemoryHandover.indexName),
      notifier.store(replacement.bodies, named: MemoryHandover.bodiesName)
    {
      return .stored
    }
    return remove(with: notifier) ? .empty : .failed
  }

  private func remove(with notifier: SystemdNotifier) -> Bool {
    let names = [MemoryHandover.indexName, MemoryHandover.bodiesName]
    return names.allSatisfy { notifier.remove(named: $0) }
  }
}
