// Another program may change a file of the tier, by mistake or for some purpose of its own. A file is sound if its
// bytes match the checksum, and stays so while it keeps the stamp that it had then. So each file is
// read once in the life of a process, unless this process stored it, and again after somebody has changed it.
// A look-up that hands out a path does not even ask for the stamp: the kernel reports which files were touched.

internal import ImgdSystem

/// Files that were stored by us or seen to be sound, and have not been touched by others since.
final class VerifiedFiles: DiskPart {
  /// Longer files are left to the reader: reading them here would hold up others.
  private static let mostBytesRead = 256 * 1024
  /// How many files touched while others are being stored are noted one by one.
  private static let mostTouched = 1_024
  /// How long a move of a directory above may go unnoticed.
  private static let longestUnseen = Duration.seconds(1)

  private let removals: DiskRemovals
  private var watch: SubdirectoryWatch?
  /// Files that were last found sound under a lower count have to be looked at again.
  private var count: UInt32 = 1
  private var isInPlace = true
  private var lookedAt: Instant
  /// The tick in which the watch was last read.
  private var heardIn: UInt64?
  /// Numbers of files touched after stores began, whose entries are only known once the writer answers.
  private var touched: Set<UInt32> = []
  /// Whether there were too many to note.
  private var areTouchedMore = false
  /// Files that the reader is looking at, by number, with the actions that wait for it.
  private var looks: [UInt32: [() -> Void]] = [:]

  init(_ ground: DiskGround, removals: DiskRemovals) {
    self.removals = removals
    lookedAt = ground.loop.now
    super.init(ground)
  }

  /// Begins with a directory that has just been opened, in which no file has been looked at.
  func begin(_ directory: DiskDirectory) {
    isInPlace = true
    watch = SubdirectoryWatch(directory)
    count += 1
  }

  func endWatch() { watch = nil }

  /// The current count, to be kept with the stores that are sent to the writer now.
  func countForStores(amongOthers areOthers: Bool) -> UInt32 {
    hear()
    if !areOthers { (touched, areTouchedMore) = ([], false) }
    // Without a watch, nothing can be relied on to be unchanged.
    if watch == nil { files.directory?.pictures.noteDisturbance() }
    return count
  }

  /// Whether everything that is done to files of this digest is noticed from now on.
  func covers(_ digest: KeyDigest) -> Bool { watch?.cover(Subdirectory.number(of: digest)) == true }

  /// Notes that a file was stored whose changes have been noticed since `begun`: it is sound unless it was touched.
  func noteStored(_ entry: DiskEntry, at place: Int, under begun: UInt32) {
    hear()
    guard isInPlace, begun == count, !areTouchedMore, !touched.contains(entry.number) else {
      return index.setStamp(0, at: place)
    }
    index.setVerified(in: count, at: place)
  }

  /// The file of an entry, if it can be opened without waiting for the disk, and its bytes are known to be those
  /// that were stored, or are few and at hand and match their checksum now.
  func open(_ entry: DiskEntry, at place: Int) -> FileDescriptor? {
    guard case .file(let file, let stamp) = open(entry) else { return nil }
    if stamp != index[place].stamp, read(file, stamp, of: entry, at: place) == nil { return nil }
    return file
  }

  /// The bytes of an entry's file, if they are at hand, few, and match their checksum.
  func read(_ entry: DiskEntry, at place: Int) -> Payload? {
    guard case .file(let file, let stamp) = open(entry) else { return nil }
    return read(file, stamp, of: entry, at: place)
  }

  private func open(_ entry: DiskEntry) -> OpenAnswer {
    hear()
    guard let directory = files.directory, let file = files.file(of: entry) else { return .missing }
    return directory.pictures.open(file, count: Int(entry.bytes), allowsWaiting: false)
  }

  private func read(_ file: borrowing FileDescriptor, _ stamp: UInt64, of entry: DiskEntry, at place: Int) -> Payload? {
    let count = Int(entry.bytes)
    guard count <= Self.mostBytesRead, let payload = Payload.readAtHand(file, count: count),
      BodyChecksum(of: payload) == entry.checksum
    else { return nil }
    index.setStamp(stamp, at: place)
    return payload
  }

  /// Whether an entry's file is sound; it is not looked at if it has not been touched since the last
  /// look. If that is not known at once, the reader finds out.
  func check(_ entry: DiskEntry, at place: Int) -> CheckAnswer {
    let answer = checkAtOnce(entry, at: place)
    if answer == .wouldWait, looks[entry.number] == nil { look(entry, at: place) }
    return answer
  }

  func checkAtOnce(_ entry: DiskEntry, at place: Int) -> CheckAnswer {
    hear()
    guard isInPlace else { return .missing }
    if index[place].verifiedIn == count { return .sound }
    guard looks[entry.number] == nil else { return .wouldWait }
    guard let directory = files.directory, let file = files.file(of: entry) else { return .damaged }
    // The watch begins first, so that nothing happens unseen in between.
    let isWatched = covers(entry.digest)
    var answer = directory.pictures.check(file, count: Int(entry.bytes), stamp: index[place].stamp)
    if answer == .unknown { answer = read(entry, at: place) == nil ? .wouldWait : .sound }
    if answer == .sound, isWatched { index.setVerified(in: count, at: place) }
    return answer
  }

  /// Whether a file need not be looked at: it was found sound, and has not been touched since.
  func isSound(_ place: Int) -> Bool {
    hear()
    return isInPlace && index[place].verifiedIn == count
  }

  /// Rises whenever any file may have been touched or any entry has gone; call `hear` first.
  var changeCount: Int { index.lossCount + Int(count) }

  /// Runs an action when the reader has looked at a file; false if the reader is not looking at it.
  func whenChecked(_ number: UInt32, _ action: @escaping () -> Void) -> Bool { looks[number]?.append(action) != nil }

  /// Has the reader look at a file that is long, or that would have the kernel wait for the disk.
  private func look(_ entry: DiskEntry, at place: Int) {
    guard let file = files.file(of: entry) else { return }
    looks[entry.number] = []
    let (begun, isWatched) = (count, covers(entry.digest))
    threads.ask(
      { (reader) throws(DiskTrouble) in reader.compare(file, count: Int(entry.bytes), checksum: entry.checksum) },
      orElse: { [unowned self] in looked(at: entry) },
      then: { [unowned self] answer in
        if index.entry(at: place, number: entry.number)?.hasBody == true {
          switch answer {
          case .sound(_, let stamp):
            index.setStamp(stamp, at: place)
            index.setVerified(in: isWatched ? begun : count, at: place)
          case .damaged(let reason): removals.removeDamaged(place, reason)
          // One that cannot be read counts as missing.
          case .missing, .failed: removals.removeMissing(place)
          }
        }
        looked(at: entry)
      })
  }

  private func looked(at entry: DiskEntry) { for action in looks.removeValue(forKey: entry.number) ?? [] { action() } }

  /// Takes note of what others have done to the files, once a tick.
  func hear() {
    guard heardIn != loop.tickCount, let watch else { return }
    heardIn = loop.tickCount
    for event in watch.events() {
      switch event {
      case .touched(let file): note(touched: file)
      case .everything:
        count += 1
        files.directory?.pictures.noteDisturbance()
        lookAtPlace()
      }
    }
    // The watch does not notice when a directory above this one is moved.
    if loop.now - lookedAt >= Self.longestUnseen { lookAtPlace() }
  }

  private func lookAtPlace() {
    lookedAt = loop.now
    let wasInPlace = isInPlace
    isInPlace = files.directory?.isInPlace() == true
    if isInPlace != wasInPlace { count += 1 }
  }

  private func note(touched file: PictureFile) {
    if touched.count < Self.mostTouched { touched.insert(file.number) } else { areTouchedMore = true }
    if let place = index.place(of: file.digest, number: file.number) {
      index.setVerified(in: 0, at: place)
      // Two changes within a tick of the kernel's clock have one stamp.
      index.setStamp(0, at: place)
    }
  }
}

/// Notices when others touch files of the tier: a file that was found sound counts as sound until it or a directory
/// above it is touched, so one that is lent a thousand times is looked at once, and yet no client gets the path of
/// one that has gone.
final class SubdirectoryWatch {
  enum Event {
    case touched(PictureFile)
    /// More than one file may be affected, or it is unknown which.
    case everything
  }

  private let directory: DiskDirectory
  private let watch: DirectoryWatch
  private var watched: Set<Int> = []
  private var areSubdirectories: Set<CInt> = []

  /// Nil if nothing can be watched: then every file is looked at every time.
  init?(_ directory: DiskDirectory) {
    // The index and the nameless files of new pictures lie in these directories, and it is we who write them.
    guard let watch = try? DirectoryWatch(), (try? watch.add(directory.path, noticesWriting: false)) != nil,
      (try? watch.add(directory.layoutPath, noticesWriting: false)) != nil
    else { return nil }
    self.directory = directory
    self.watch = watch
  }

  /// Watches a subdirectory from now on; false when that is impossible.
  func cover(_ subdirectory: Int) -> Bool {
    if watched.contains(subdirectory) { return true }
    let path = directory.layoutPath + "/" + Subdirectory.name(subdirectory)
    guard let number = try? watch.add(path) else { return false }
    watched.insert(subdirectory)
    areSubdirectories.insert(number)
    return true
  }

  func events() -> [Event] {
    watch.events().compactMap { event in
      // The daemon itself writes the index.
      if event.name?.hasPrefix("index.db") == true { return nil }
      guard let number = event.directory, areSubdirectories.contains(number), let name = event.name else {
        // They may have been replaced: each is watched again when it is needed.
        watched = []
        areSubdirectories = []
        return .everything
      }
      return PictureFile(name: name).map { .touched($0) }
    }
  }
}
