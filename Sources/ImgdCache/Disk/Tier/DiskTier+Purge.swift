// Purges of the disk tier.
//
// A purge has two halves. First the writer looks for what is meant, part by part, and the index in
// memory forgets it; whoever asks meanwhile waits. From then on nobody finds it, and the writer
// removes it, again by parts; when all of that is committed, who has asked for the purge is told.
// When everything is meant there is nothing to look for: a number in the index file says that all
// entries up to it are gone, and rows and files go afterwards.

internal import ImgdSystem

/// A purge that is under way.
final class PurgeTask {
  let filter: PurgeFilter
  let soft: Bool
  private let then: (Removal) -> Void
  /// What it has found so far, and what of that has still to go.
  var removal = Removal.none
  var numbers: [UInt32] = []
  /// Everything goes that was stored up to this number.
  var ceiling: UInt32?
  /// Of the index that the numbers are in.
  var generation = 0
  /// A single entry, which nobody finds for as long as this process knows that it is gone.
  var isOneEntry = false

  init(_ filter: PurgeFilter, soft: Bool, then: @escaping (Removal) -> Void) {
    self.filter = filter
    self.soft = soft
    self.then = then
  }

  func tell() { then(removal) }
}

extension DiskTier {
  /// Removes what matches, or marks it stale; `then` is told how much when it is on disk too.
  ///
  /// From this call on nothing that matches is found: what is looked for meanwhile waits.
  package func purge(_ filter: PurgeFilter, soft: Bool, then: @escaping (Removal) -> Void) {
    guard isEnabled else { return then(.none) }
    guard state != .off else {
      guard purging > 0 else {
        dropStores(matching: filter)
        owe(OwedPurge(filter: filter, soft: soft))
        return then(.none)
      }
      afterPurge.append { [unowned self] in purge(filter, soft: soft, then: then) }
      return
    }
    counts.purges += 1
    dropStores(matching: filter)
    // What has been stored by then is found by the query.
    sendAllStores()
    let task = PurgeTask(filter, soft: soft, then: then)
    if filter.matchesAll, !soft, isLoaded { purgeAll(task) } else { look(for: task) }
  }

  private func dropStores(matching filter: PurgeFilter) {
    for store in stores.all.values
    where filter.matches(key: store.image.key, tags: store.image.tags) {
      store.image.isPurged = true
    }
  }

  /// When the last one has been looked for, what waited for it goes on.
  func endPurge() {
    purging -= 1
    guard purging == 0 else { return }
    let waiting = afterPurge
    afterPurge = []
    for action in waiting { action() }
  }

  // MARK: Looking

  func look(for task: PurgeTask) {
    purging += 1
    seeking.append(task)
    if seeking.count == 1 { seek(task) }
  }

  private func seek(_ task: PurgeTask) {
    writeUses()
    let query = IndexFilter(task.filter, wall: wall)
    order(
      { (writer) throws(DiskTrouble) in try writer.find(query) },
      then: { [unowned self] in found($0, task) })
  }

  private func found(_ part: SearchPart?, _ task: PurgeTask) {
    if let part {
      take(part.matches, task)
      guard part.isLast else {
        return order(
          { (writer) throws(DiskTrouble) in try writer.findMore() },
          then: { [unowned self] in found($0, task) })
      }
    }
    seeking.removeFirst()
    // Where the index is opened anew meanwhile, what there was to find is in another one.
    if let next = seeking.first { directory == nil ? found(nil, next) : seek(next) }
    if part == nil { giveUp(task) } else { clearAway(task) }
    endPurge()
  }

  private func take(_ matches: [IndexMatch], _ task: PurgeTask) {
    for match in matches {
      task.numbers.append(match.number)
      let digest = KeyDigest(high: match.digestHigh, low: match.digestLow)
      let place = index.place(of: digest).flatMap { index[$0].number == match.number ? $0 : nil }
      // Its row may still be there, when it has been removed already.
      guard place != nil || isUnread(match.number) else { continue }
      task.removal.count(match.allocated)
      if !isLoaded, !task.soft { removedWhileLoading.insert(match.number) }
      guard let place else { continue }
      if task.soft { index[place].freshUntil = 0 } else { index.remove(place) }
    }
  }

  /// Whether an entry of the index file may be one that memory does not know yet.
  func isUnread(_ number: UInt32) -> Bool {
    !isLoaded && number > cleared && !removedWhileLoading.contains(number)
  }

  // MARK: Clearing away

  /// So many rows and files at a time, so that a picture never waits long for the writer.
  static let mostAtOnce = 64

  /// Everything goes, here at once, and on disk as fast for who looks.
  private func purgeAll(_ task: PurgeTask) {
    task.removal = Removal(entries: index.count, bytes: index.allocated)
    task.numbers = Array(currentLeases.keys)
    index = DiskIndex()
    toDoom = []
    unbounded.append(task)
    order(
      { (writer) throws(DiskTrouble) in try writer.lastNumber() },
      then: { [unowned self] last in
        unbounded.removeFirst()
        guard let last else { return giveUp(task) }
        task.ceiling = last
        clearAway(task)
      })
  }

  /// An entry that is out of the index here has to go on disk too.
  func clearAway(_ number: UInt32, of key: CacheKey) {
    var filter = PurgeFilter()
    filter.url = key.url
    filter.identifier = key.identifier ?? ""
    let task = PurgeTask(filter, soft: false) { _ in }
    task.numbers = [number]
    task.isOneEntry = true
    clearAway(task)
  }

  private func clearAway(_ task: PurgeTask) {
    task.generation = generation
    clearing.append(task)
    if clearing.count == 1 { clearPart(of: task) }
  }

  private func clearPart(of task: PurgeTask) {
    guard task.generation == generation else { return ended(task, isDone: false) }
    let part = Array(task.numbers.suffix(Self.mostAtOnce))
    guard !part.isEmpty else { return endClearing(task) }
    let (leases, wall, soft) = (leases(of: part), self.wall, task.soft)
    order(
      { (writer) throws(DiskTrouble) in
        if soft { return try writer.markStale(part) }
        try writer.doom(part, leases: leases, at: wall)
      },
      then: { [unowned self] done in
        guard done != nil else { return ended(task, isDone: false) }
        if !leases.isEmpty { carryOutLater(after: limits.lease) }
        task.numbers.removeLast(part.count)
        clearPart(of: task)
      })
  }

  private func endClearing(_ task: PurgeTask) {
    guard let ceiling = task.ceiling else { return ended(task, isDone: true) }
    let leases = currentLeases
    order(
      { (writer) throws(DiskTrouble) in try writer.clear(through: ceiling, leases: leases) },
      then: { [unowned self] done in
        ended(task, isDone: done != nil)
        clearRest()
      })
  }

  private func ended(_ task: PurgeTask, isDone: Bool) {
    clearing.removeFirst()
    if let next = clearing.first { clearPart(of: next) }
    if isDone { task.tell() } else { giveUp(task) }
  }

  /// What could not be done is done later.
  private func giveUp(_ task: PurgeTask) {
    if task.isOneEntry, task.generation == generation {
      toDoom += task.numbers
    } else {
      owe(OwedPurge(filter: task.filter, soft: task.soft))
    }
    task.tell()
  }

  /// Removes rows and files of entries that are gone all together, and goes on at the next start
  /// where a stop comes in between.
  func clearRest() {
    guard !isClearingRest else { return }
    isClearingRest = true
    let (leases, wall) = (currentLeases, self.wall)
    order(
      { (writer) throws(DiskTrouble) in try writer.clearSome(leases: leases, at: wall) },
      then: { [unowned self] more in
        isClearingRest = false
        if more == true { clearRest() }
      })
  }

  // MARK: The end

  /// How long the purges that are still under way may take when the daemon stops.
  private static let longestEnd = Duration.seconds(3)

  /// Has the writer carry out what was not: nobody has been told that it is done, but it may be.
  func finishPurges() {
    let wall = self.wall
    let left =
      owed.map { PurgeOrder(filter: IndexFilter($0.filter, wall: wall), soft: $0.soft) }
      + (clearing + unbounded + seeking).map {
        PurgeOrder(filter: IndexFilter($0.filter, wall: wall), soft: $0.soft)
      }
    guard !left.isEmpty else { return }
    let leases = currentLeases
    writer?.submit { $0.finish(left, leases: leases, within: Self.longestEnd) }
  }
}

extension IndexFilter {
  init(_ filter: PurgeFilter, wall: Int64) {
    self.init()
    url = filter.url?.text
    identifier = filter.identifier
    prefix = filter.prefix
    host = filter.host
    tag = filter.tag
    // Whole seconds: rather one entry too many goes than one too few.
    storedBefore = filter.olderThan.map { wall - $0.nanoseconds / 1_000_000_000 + 1 }
    usedBefore = filter.unusedFor.map { wall - $0.nanoseconds / 1_000_000_000 + 1 }
    staleAt = filter.expired ? wall : nil
  }
}

extension DiskTier {
  // MARK: After an unclean stop

  private static let shelvesAtOnce = 2

  /// Compares files and rows, shelf by shelf: a power loss may undo what a kill cannot.
  func lookThrough(shelf: Int) {
    guard shelf < Shelf.all else { return isLookedThrough = true }
    let end = min(shelf + Self.shelvesAtOnce, Shelf.all)
    order(
      { (writer) throws(DiskTrouble) in try writer.lookThrough(shelves: shelf..<end) },
      then: { [unowned self] lost in
        guard let lost else { return }
        for match in lost { forget(match) }
        lookThrough(shelf: end)
      })
  }

  /// An entry whose file is not there.
  private func forget(_ match: IndexMatch) {
    if !isLoaded { removedWhileLoading.insert(match.number) }
    let digest = KeyDigest(high: match.digestHigh, low: match.digestLow)
    guard let place = index.place(of: digest), index[place].number == match.number else { return }
    index.remove(place)
  }
}
