import ImgdCache
import ImgdPicture
import ImgdSystem

/// Leaves the hottest pictures with the service manager when the daemon stops, and takes over what
/// the one before it has left.
///
/// The manager keeps descriptors through a restart, and after a crash too. What a daemon leaves that
/// then crashes is not taken over: it may be what made it crash.
final class MemoryHandover {
  static let indexName = "imgd-index"
  static let bodiesName = "imgd-hot"
  /// How long the manager may take to hear of it, at the end.
  private static let patience = Duration.seconds(2)
  /// When a manager that was too busy is told again to forget something.
  private static let pauseForManager = Duration.seconds(1)

  private let manager: ServiceManager
  private let memory: MemoryTier
  private let loop: EventLoop
  private let mostDescriptors: Int
  /// Whether the manager may have something of ours.
  private var hasLeft = false
  private var forgetting: Timer?
  private var indices: [Payload]
  private var bodies: [Payload]

  /// `mostDescriptors` is what the manager is ready to keep. What the daemon before has left is taken
  /// out of the manager's hands at once: a start that fails shall not find it a second time.
  init(
    _ manager: ServiceManager, of memory: MemoryTier, mostDescriptors: Int,
    inheriting inherited: [InheritedDescriptor], loop: EventLoop
  ) {
    indices = Self.payloads(inherited, named: Self.indexName)
    bodies = Self.payloads(inherited, named: Self.bodiesName)
    hasLeft = !inherited.isEmpty
    self.manager = manager
    self.memory = memory
    self.mostDescriptors = manager.isPresent ? mostDescriptors : 0
    self.loop = loop
    if !takeBack(within: ServiceManager.patience) { forgetLater() }
  }

  /// Leaves a snapshot, which counts only if a clean stop follows. Clients are served meanwhile, so
  /// a manager that is busy is left alone.
  func leaveSnapshot() {
    leave(isClean: false, within: .zero)
  }

  /// Leaves all that is to be taken over; nothing may happen in the memory tier after it.
  func leaveForGood() {
    forgetting?.cancel()
    leave(isClean: true, within: ServiceManager.timeToKeep)
    if hasLeft { _ = manager.waitUntilHeard(atMost: Self.patience) }
  }

  private func leave(isClean: Bool, within time: Duration) {
    guard mostDescriptors > 0 else { return }
    // Beside what is there already it would be one of two, of which nobody knows which counts.
    guard takeBack(within: min(time, ServiceManager.patience)) else { return forgetLater() }
    let limits = HandoverLimits(descriptors: mostDescriptors, bytes: memory.limits.preferred)
    guard
      let handover = try? memory.handover(
        within: limits, isClean: isClean, release: Version.string, at: loop.now,
        wall: WallClock.seconds)
    else { return }
    hasLeft = true
    // The index first: what comes beyond the manager's limit is lost, and may be.
    guard manager.keep([handover.index], named: Self.indexName, within: time),
      manager.keep(handover.bodies, named: Self.bodiesName, within: time)
    else { return forget() }
  }

  /// Takes back what has been left, when it is no longer to be taken over, or its memory is wanted.
  func forget() {
    if !takeBack(within: .zero) { forgetLater() }
  }

  /// Answers whether the manager has nothing of ours any more.
  private func takeBack(within time: Duration) -> Bool {
    guard hasLeft, manager.isPresent else { return true }
    hasLeft =
      !(manager.forget(named: Self.indexName, within: time)
      && manager.forget(named: Self.bodiesName, within: time))
    return !hasLeft
  }

  /// It waits for nobody: clients are served meanwhile.
  private func forgetLater() {
    forgetting?.cancel()
    forgetting = loop.schedule(after: Self.pauseForManager) { [unowned self] in forget() }
  }

  /// Takes over what the daemon before has left.
  func takeOver() {
    defer { (indices, bodies) = ([], []) }
    // Of several nobody knows which is the last.
    guard indices.count == 1, let index = indices.first else { return }
    do throws(HandoverProblem) {
      _ = try memory.takeOver(
        index: index, bodies: bodies, release: Version.string, at: loop.now,
        wall: WallClock.seconds, isKnown: { PictureFormat(rawValue: $0.format) != nil })
    } catch {
      Log.notice(.handover, "the memory tier begins empty: \(error.description)")
    }
  }

  /// What is not sealed is let go of.
  private static func payloads(_ inherited: [InheritedDescriptor], named name: String) -> [Payload]
  {
    inherited.filter { $0.name == name }
      .compactMap { Payload.adopt(FileDescriptor(owning: $0.number)) }
  }
}
