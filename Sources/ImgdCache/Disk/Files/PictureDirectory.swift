import Glibc
package import ImgdSystem
import Synchronization

/// A picture's bytes in a file that has no name yet: until it is linked, it vanishes with this value.
package struct PreparedFile: ~Copyable, Sendable {
  let descriptor: FileDescriptor
  package let count: Int
  /// The bytes that its blocks take.
  package let allocated: Int

  /// The number of its descriptor.
  var number: CInt { descriptor.number }
}

/// The pictures below the directory of the layout, as files: opened, written and listed.
///
/// Everything goes through one open directory, and follows no link on the way.
package final class PictureDirectory: Sendable {
  private let layout: Directory
  private let disturbances = Atomic<UInt32>(0)

  init(_ layout: consuming Directory) { self.layout = layout }

  func identity() throws(SystemFailure) -> FileStatus.Identity { try layout.status().identity }

  /// Whether there is nothing at all in it, not even an index.
  var isEmpty: Bool { (try? layout.names())?.isEmpty == true }

  /// The bytes that may still be written to the file system, and its whole size.
  package func freeSpace() throws(SystemFailure) -> (free: Int, total: Int) { try layout.space() }

  // MARK: Disturbances

  /// How often somebody else may have changed the directories.
  var disturbanceCount: UInt32 { disturbances.load(ordering: .relaxed) }

  /// Notes that somebody else may have changed the directories, so that what was known of them is no longer certain.
  func noteDisturbance() { disturbances.add(1, ordering: .relaxed) }

  // MARK: Reading

  /// Opens a picture of `count` bytes for reading.
  package func open(_ file: PictureFile, count: Int, allowsWaiting: Bool) -> OpenAnswer {
    do throws(SystemFailure) {
      let descriptor = try layout.open(file.relativePath, for: .reading, mayWait: allowsWaiting)
      let status = try descriptor.status(file.name)
      if let damage = status.damage(expecting: count) { return .damaged(damage) }
      return .file(descriptor, stamp: status.stamp)
    } catch { return OpenAnswer(error) }
  }

  /// Looks whether a picture's file still has a stamp, without ever waiting for the disk.
  package func check(_ file: PictureFile, count: Int, stamp: UInt64) -> CheckAnswer {
    // fstatat alone costs half as much as open, fstat and close (1.3 µs against 3.0), but it goes
    // to the disk for what is not in the kernel's memory, and follows a link on the way.
    do throws(SystemFailure) {
      let descriptor = try layout.open(file.relativePath, for: .status, mayWait: false)
      let status = try descriptor.status(file.name)
      guard status.damage(expecting: count) == nil else { return .damaged }
      return status.stamp == stamp ? .sound : .unknown
    } catch {
      switch OpenAnswer(error) {
      case .missing: return .missing
      case .damaged: return .damaged
      default: return .wouldWait  // out of descriptors: a thread that waits may see more
      }
    }
  }

  /// Reads an opened picture; nil when it does not have exactly `count` bytes.
  package static func read(_ descriptor: borrowing FileDescriptor, count: Int) throws(SystemFailure) -> Payload? {
    try Payload.read(descriptor, count: count)
  }

  // MARK: Writing

  /// Writes a picture to a file without a name.
  package func prepare(_ payload: Payload) throws(SystemFailure) -> PreparedFile {
    let permissions = DiskDirectory.filePermissions
    let file = try layout.makeUnnamedFile(permissions: permissions)
    try payload.copy(to: file)
    let status = try file.status("an unnamed file")
    // The umask of the process, or a rule of the directory, may have taken some permissions away.
    if status.permissions != permissions { try file.setPermissions(permissions, of: "an unnamed file") }
    return PreparedFile(descriptor: file, count: payload.count, allocated: status.allocated)
  }

  // MARK: Subdirectories

  /// Opens one of the subdirectories, making it if it is missing.
  func claim(_ number: Int) throws(SystemFailure) -> Directory { try layout.claim(Subdirectory.name(number)) }

  /// Opens one of the subdirectories; nil if it is missing or not a directory.
  func subdirectory(_ number: Int) throws(SystemFailure) -> Directory? {
    do { return try layout.directory(Subdirectory.name(number)) } catch {
      guard [ENOENT, ENOTDIR, ELOOP].contains(error.errno) else { throw error }
      return nil
    }
  }

  // MARK: Listing

  /// The contents of one of the subdirectories; one that was never made counts as empty.
  package func contents(ofSubdirectory number: Int) throws(SystemFailure) -> SubdirectoryContents {
    precondition((0..<Subdirectory.count).contains(number), "there is no such subdirectory")
    guard let directory = try subdirectory(number) else { return SubdirectoryContents(pictures: [], foreign: 0) }
    var pictures: [PictureFile] = []
    var foreign = 0
    for name in try directory.names() {
      if let file = PictureFile(name: name), file.subdirectory == number, try isPicture(name, in: directory) {
        pictures.append(file)
      } else {
        foreign += 1
      }
    }
    return SubdirectoryContents(pictures: pictures, foreign: foreign)
  }

  /// Whether a name belongs to a file of ours, and not to something else or to a file that has just gone.
  private func isPicture(_ name: String, in directory: borrowing Directory) throws(SystemFailure) -> Bool {
    do {
      let status = try directory.status(of: name)
      return status.kind == .regular && status.owner == geteuid()
    } catch {
      guard error.errno == ENOENT else { throw error }
      return false
    }
  }
}
