/// Removes entries whose file is missing or damaged.
final class DiskLosses: DiskPart {
  let ground: DiskGround
  private let removals: DiskRemovals

  init(_ ground: DiskGround, removals: DiskRemovals) {
    self.ground = ground
    self.removals = removals
  }

  /// Looks whether the directory is in its place: nothing reports it when a directory above was moved. If it is not,
  /// everything starts over.
  func lookForDirectory() {
    guard let directory = files.directory, !directory.isInPlace() else { return }
    threads.report(.directoryIsGone)
  }

  /// Removes an entry whose file is missing. If the cache directory is missing too, everything
  /// begins anew.
  func missing(_ place: Int) {
    removals.remove([place], as: .loss)
    threads.order(
      { (disk) throws(DiskTrouble) in disk.isInPlace },
      then: { [unowned threads] isInPlace in
        guard isInPlace == false else { return }
        threads.report(.directoryIsGone)
      })
  }

  /// Removes an entry whose file or row is not what was stored.
  func damaged(_ place: Int, _ reason: String) {
    reports.damaged("\(files.name(of: index[place])): \(reason)")
    removals.remove([place], as: .loss)
  }
}
