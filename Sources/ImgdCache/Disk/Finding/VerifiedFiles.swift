internal import ImgdSystem

/// Files that were stored by us or seen to be sound, and have not been touched by others since.
final class VerifiedFiles {
  /// So many files that were touched while others are stored are noted one by one.
  private static let mostTouched = 1_024

  private let index: DiskIndex
  private let files: DiskFiles
  private let threads: DiskThreads
  private let losses: DiskLosses
  private let loop: EventLoop
  private var watch: SubdirectoryWatch?
  /// Files that were seen in an earlier count than this have to be looked at again.
  private var count: UInt32 = 1
  /// Whether paths still lead to the directory.
  private var isInPlace = true
  /// The tick in which the watch was read last.
  private var heardIn: UInt64?
  /// Numbers of files that were touched since stores began: their entries come with the writer's answer.
  private var touched: Set<UInt32> = []
  /// There were too many to be noted.
  private var areTouchedMore = false
  /// Files that the reader looks at, by number, with the actions that wait for that.
  private var looks: [UInt32: [() -> Void]] = [:]

  init(
    _ index: DiskIndex, _ files: DiskFiles, _ threads: DiskThreads, _ losses: DiskLosses,
    loop: EventLoop
  ) {
    self.index = index
    self.files = files
    self.threads = threads
    self.losses = losses
    self.loop = loop
  }

  /// Begins with a directory that has just been opened; nothing in it has been looked at.
  func begin(_ directory: DiskDirectory) {
    isInPlace = true
    watch = SubdirectoryWatch(directory)
    count += 1
  }

  func end() { watch = nil }

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
      return
    }
    index.setVerified(in: count, at: place)
  }

  // MARK: Looks

  /// Whether an entry's file is sound; it is looked at unless it has not been touched since the last
  /// time.
  func check(_ entry: DiskEntry, at place: Int) -> CheckAnswer {
    hear()
    guard isInPlace else { return .missing }
    if index[place].verifiedIn == count { return .sound }
    guard looks[entry.number] == nil else { return .wouldWait }
    guard let directory = files.directory, let file = files.file(of: entry) else {
      return .damaged
    }
    // Watched first, so that nothing happens unseen in between.
    let isWatched = watch?.cover(file.subdirectory) == true
    let answer = directory.pictures.check(file, count: Int(entry.bytes))
    switch answer {
    case .sound where isWatched: index.setVerified(in: count, at: place)
    case .wouldWait: look(file, of: entry, at: place, isWatched: isWatched)
    case .sound, .missing, .damaged: break
    }
    return answer
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

  /// Has the reader look at a file for which the kernel would have to wait for the disk.
  private func look(_ file: PictureFile, of entry: DiskEntry, at place: Int, isWatched: Bool) {
    looks[entry.number] = []
    let begun = count
    threads.ask(
      { (reader) throws(DiskTrouble) in reader.check(file, count: Int(entry.bytes)) },
      orElse: { [unowned self] in looked(at: entry) },
      then: { [unowned self] problem in
        if index.entry(at: place, number: entry.number) != nil {
          switch problem {
          case nil: index.setVerified(in: isWatched ? begun : count, at: place)
          case .damaged(let reason): losses.damaged(place, reason)
          default: losses.missing(place)
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
        isInPlace = files.directory?.isInPlace() == true
        continue
      }
      note(touched: file)
    }
  }

  private func note(touched file: PictureFile) {
    if touched.count < Self.mostTouched {
      touched.insert(file.number)
    } else {
      areTouchedMore = true
    }
    if let place = index.place(of: file.digest, number: file.number) {
      index.setVerified(in: 0, at: place)
    }
  }
}
