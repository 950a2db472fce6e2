internal import ImgdSystem

/// Finds out how large the file system is if the capacity is a share of it.
///
/// The writer asks, since a file system may be slow to answer. It asks when the directory is opened
/// and at each reload: the file system may have been enlarged, or another one mounted.
final class FileSystemSize: DiskPart {
  let ground: DiskGround
  private let eviction: DiskEviction

  init(_ ground: DiskGround, eviction: DiskEviction) {
    self.ground = ground
    self.eviction = eviction
  }

  /// Asks for the size, and makes room if that makes the capacity smaller.
  func look() {
    guard rules.limits.allowance.asksForFileSystem else { return }
    threads.order(
      { (disk) throws(DiskTrouble) in
        do throws(SystemFailure) { return try disk.pictures.freeSpace().total } catch {
          throw disk.explained(DiskTrouble(error))
        }
      },
      then: { [unowned self] total in
        guard let total else { return }
        rules.note(fileSystem: total)
        eviction.trim()
      })
  }
}
