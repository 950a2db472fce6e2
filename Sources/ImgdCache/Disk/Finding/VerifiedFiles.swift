internal import ImgdSystem

// Another program may change a file of the tier, by mistake or for some purpose of its own. Its bytes are those that
// were stored when they have their checksum, and as long as the file keeps the stamp that it had then. So each is
// read once in the life of a process, unless this process has stored it, and again when somebody has changed it.
// A look-up that hands out a path does not even ask for the stamp: the kernel tells which files were touched.

/// Files that were stored by us or seen to be sound, and have not been touched by others since.
final class VerifiedFiles: DiskPart {
  /// A longer file is read by the reader: it would hold up others.
  private static let mostBytesRead = 256 * 1024
  /// How many files that were touched while others are stored are noted one by one.
  private static let mostTouched = 1_024
  /// For so long a directory above may have been moved unseen.
  private static let longestUnseen = Duration.seconds(1)

  let ground: DiskGround
  private let losses: DiskLosses
  private var watch: SubdirectoryWatch?
  /// Files that were seen in an earlier count than this have to be looked at again.
  private var count: UInt32 = 1
  /// Whether paths still lead to the directory.
  private var isInPlace = true
  /// When it was looked at last whether they do.
  private var lookedAt: Instant
  /// The tick in which the watch was read last.
  private var heardIn: UInt64?
  /// Numbers of files that were touched since stores began: their entries come with the writer's answer.
  private var touched: Set<UInt32> = []
  /// There were too many to be noted.
  private var areTouchedMore = false
  /// Files that the reader looks at, by number, with the actions that wait for that.
  private var looks: [UInt32: [() -> Void]] = [:]

  init(_ ground: DiskGround, losses: DiskLosses) {
    self.ground = ground
    self.losses = losses
    lookedAt = ground.loop.now
  }

  /// Begins with a directory that has just been opened; nothing in it has been looked at.
  func begin(_ directory: DiskDirectory) {
    isInPlace = true
    watch = SubdirectoryWatch(directory)
    count += 1
  }

  func endWatch() { watch = nil }

  // MARK: Stores

  /// The count under which files are stored that are sent now.
  func countForStores(amongOthers areOthers: Bool) -> UInt32 {
    hear()
    if !areOthers { (touched, areTouchedMore) = ([], false) }
    // Where nothing is noticed, nothing may be taken for what it was.
    if watch == nil { files.directory?.pictures.noteDisturbance() }
    return count
  }

  /// Whether all is noticed from now on that is done to a file of this digest.
  func notices(_ digest: KeyDigest) -> Bool {
    watch?.cover(Subdirectory.number(of: digest)) == true
  }

  /// Notes that a file was linked under a count in which it was noticed what is done to it.
  func noteStored(_ entry: DiskEntry, at place: Int, under begun: UInt32) {
    hear()
    guard isInPlace, begun == count, !areTouchedMore, !touched.contains(entry.number) else {
      return index.setStamp(0, at: place)
    }
    index.setVerified(in: count, at: place)
  }

  // MARK: Looks

  /// The file of an entry, if it can be opened without waiting for the disk, and its bytes are known to be those
  /// that were stored, or are so few that they are compared now.
  func open(_ entry: DiskEntry, at place: Int) -> FileDescriptor? {
    guard case .file(let file, let stamp) = open(entry) else { return nil }
    if stamp != index[place].stamp, read(file, stamp, of: entry, at: place) == nil { return nil }
    return file
  }

  /// The bytes of an entry's file, if they are at hand, few, and those that were stored.
  func read(_ entry: DiskEntry, at place: Int) -> Payload? {
    guard case .file(let file, let stamp) = open(entry) else { return nil }
    return read(file, stamp, of: entry, at: place)
  }

  private func open(_ entry: DiskEntry) -> OpenAnswer {
    hear()
    guard let directory = files.directory, let file = files.file(of: entry) else { return .missing }
    return directory.pictures.open(file, count: Int(entry.bytes), allowsWaiting: false)
  }

  private func read(
    _ file: borrowing FileDescriptor, _ stamp: UInt64, of entry: DiskEntry, at place: Int
  ) -> Payload? {
    let count = Int(entry.bytes)
    guard count <= Self.mostBytesRead, let payload = Payload.readAtHand(file, count: count),
      BodyChecksum(of: payload) == entry.checksum
    else { return nil }
    index.setStamp(stamp, at: place)
    return payload
  }

  /// Whether an entry's file is sound; it is looked at unless it has not been touched since the last
  /// time. Where that cannot be said at once, the reader finds out.
  func check(_ entry: DiskEntry, at place: Int) -> CheckAnswer {
    let answer = checkAtOnce(entry, at: place)
    if answer == .wouldWait, looks[entry.number] == nil { look(entry, at: place) }
    return answer
  }

  /// The same without the reader.
  func checkAtOnce(_ entry: DiskEntry, at place: Int) -> CheckAnswer {
    hear()
    guard isInPlace else { return .missing }
    if index[place].verifiedIn == count { return .sound }
    guard looks[entry.number] == nil else { return .wouldWait }
    guard let directory = files.directory, let file = files.file(of: entry) else {
      return .damaged
    }
    // Watched first, so that nothing happens unseen in between.
    let isWatched = covers(file)
    var answer = directory.pictures.check(
      file, count: Int(entry.bytes), stamp: index[place].stamp)
    if answer == .unknown { answer = read(entry, at: place) == nil ? .wouldWait : .sound }
    if answer == .sound, isWatched { index.setVerified(in: count, at: place) }
    return answer
  }

  /// Whether all is noticed from now on that is done to a file.
  private func covers(_ file: PictureFile) -> Bool {
    watch?.cover(file.subdirectory) == true
  }

  /// Whether a file need not be looked at: it was found sound, and has not been touched since.
  func isSound(_ place: Int) -> Bool {
    hear()
    return isInPlace && index[place].verifiedIn == count
  }

  /// Rises whenever any file may have been touched, or any entry has gone; `hear` comes first.
  var changeCount: Int { index.lossCount + Int(count) }

  /// Runs an action when the reader has looked at a file; false when it does not.
  func whenChecked(_ number: UInt32, _ action: @escaping () -> Void) -> Bool {
    guard looks[number] != nil else { return false }
    looks[number]?.append(action)
    return true
  }

  /// Has the reader look at a file that is long, or for which the kernel would have to wait for the disk.
  private func look(_ entry: DiskEntry, at place: Int) {
    guard let file = files.file(of: entry) else { return }
    looks[entry.number] = []
    let (begun, isWatched) = (count, covers(file))
    threads.ask(
      { (reader) throws(DiskTrouble) in
        reader.compare(file, count: Int(entry.bytes), checksum: entry.checksum)
      },
      orElse: { [unowned self] in looked(at: entry) },
      then: { [unowned self] answer in
        if index.entry(at: place, number: entry.number) != nil {
          switch answer {
          case .sound(let stamp):
            index.setStamp(stamp, at: place)
            index.setVerified(in: isWatched ? begun : count, at: place)
          case .damaged(let reason): losses.damaged(place, reason)
          case .missing: losses.missing(place)
          }
        }
        looked(at: entry)
      })
  }

  private func looked(at entry: DiskEntry) {
    for action in looks.removeValue(forKey: entry.number) ?? [] { action() }
  }

  /// Takes note of what others have done to the files, once a tick.
  func hear() {
    guard heardIn != loop.tickCount, let watch else { return }
    heardIn = loop.tickCount
    for event in watch.events() {
      guard case .touched(let file) = event else {
        count += 1
        files.directory?.pictures.noteDisturbance()
        lookAtPlace()
        continue
      }
      note(touched: file)
    }
    // Nothing tells that a directory above this one was moved.
    if loop.now - lookedAt >= Self.longestUnseen { lookAtPlace() }
  }

  private func lookAtPlace() {
    lookedAt = loop.now
    let wasInPlace = isInPlace
    isInPlace = files.directory?.isInPlace() == true
    if isInPlace != wasInPlace { count += 1 }
  }

  private func note(touched file: PictureFile) {
    if touched.count < Self.mostTouched {
      touched.insert(file.number)
    } else {
      areTouchedMore = true
    }
    if let place = index.place(of: file.digest, number: file.number) {
      index.setVerified(in: 0, at: place)
      // Two changes within a tick of the kernel's clock have one stamp.
      index.setStamp(0, at: place)
    }
  }
}
