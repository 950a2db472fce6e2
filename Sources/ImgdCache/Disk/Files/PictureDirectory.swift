import Glibc
package import ImgdSystem
import Synchronization

/// A picture's bytes in a file that has no name yet: until it is linked, it vanishes with this value.
package struct PreparedFile: ~Copyable, Sendable {
  let descriptor: FileDescriptor
  package let count: Int
  /// The bytes that its blocks take.
  package let allocated: Int
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

  var disturbanceCount: UInt32 { disturbances.load(ordering: .relaxed) }

  /// Notes that somebody else may have changed the directories, so that what was known of them is no longer certain.
  func noteDisturbance() { disturbances.add(1, ordering: .relaxed) }

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

  func claim(_ number: Int) throws(SystemFailure) -> Directory { try layout.claim(Subdirectory.name(number)) }

  func subdirectory(_ number: Int) throws(SystemFailure) -> Directory? {
    do { return try layout.directory(Subdirectory.name(number)) } catch {
      guard [ENOENT, ENOTDIR, ELOOP].contains(error.errno) else { throw error }
      return nil
    }
  }

  /// The files in one of the subdirectories, and how many things in it are not pictures of ours: these are left
  /// alone. One that was never made counts as empty.
  package func contents(ofSubdirectory number: Int) throws(SystemFailure) -> (pictures: [PictureFile], foreign: Int) {
    precondition((0..<Subdirectory.count).contains(number), "there is no such subdirectory")
    guard let directory = try subdirectory(number) else { return ([], 0) }
    var pictures: [PictureFile] = []
    var foreign = 0
    for name in try directory.names() {
      if let file = PictureFile(name: name), file.subdirectory == number, try isPicture(name, in: directory) {
        pictures.append(file)
      } else {
        foreign += 1
      }
    }
    return (pictures, foreign)
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

/// The outcome of an attempt to open a picture.
package enum OpenAnswer: ~Copyable, Sendable {
  case file(FileDescriptor, stamp: UInt64)
  case missing
  /// It is not what was stored; the text says why not.
  case damaged(String)
  /// The call was not allowed to wait, and the kernel would have to ask the disk.
  case wouldWait
  case failed(SystemFailure)

  init(_ failure: SystemFailure) {
    self =
      switch failure.errno {
      case ENOENT: .missing
      case EAGAIN: .wouldWait
      case ELOOP, EXDEV: .damaged("there is a symbolic link in its place or on the way to it")
      case ENOTDIR, EISDIR: .damaged("there is something else on the way to it")
      case ENXIO, ENODEV: .damaged("it is not a regular file")
      case EACCES: .damaged("it may not be read")
      default: .failed(failure)
      }
  }
}

/// The outcome of a look at a picture's file.
package enum CheckAnswer: Sendable {
  case sound, missing, damaged
  /// It has the length that was stored, but its bytes have not been compared since it was last changed.
  case unknown
  /// The kernel would have to wait for the disk to find out.
  case wouldWait
}

extension FileStatus {
  /// Why a file is not the picture of `count` bytes that was stored, as far as its status tells.
  func damage(expecting count: Int) -> String? {
    if kind != .regular { return "it is not a regular file" }
    if owner != geteuid() { return "it belongs to user \(owner)" }
    if isWritableByOthers { return "others may write to it" }
    if size != count { return "it has \(size) bytes instead of \(count)" }
    return nil
  }
}

/// The subdirectories that the writer has open, in which it gives files their names and removes them.
///
/// Each is looked up once, and not for every picture. All are looked up anew when somebody else may have
/// changed the directories, since a path may lead elsewhere then.
package final class PictureShelves {
  private final class Shelf {
    let directory: Directory
    init(_ directory: consuming Directory) { self.directory = directory }
  }

  private let pictures: PictureDirectory
  private var shelves = [Shelf?](repeating: nil, count: Subdirectory.count)
  /// The number of disturbances when they were opened.
  private var disturbanceCount: UInt32 = 0

  package init(_ pictures: PictureDirectory) { self.pictures = pictures }

  func letGo() { for number in shelves.indices { shelves[number] = nil } }

  /// Gives a file its name; a name that is taken is not replaced (`EEXIST`).
  package func link(_ prepared: borrowing PreparedFile, as file: PictureFile) throws(SystemFailure) {
    if let shelf = known(file.subdirectory) {
      do throws(SystemFailure) { return try shelf.directory.link(prepared.descriptor, as: file.name) } catch {
        // The subdirectory was removed.
        guard error.errno == ENOENT else { throw error }
      }
    }
    let shelf = Shelf(try pictures.claim(file.subdirectory))
    keep(shelf, as: file.subdirectory)
    try shelf.directory.link(prepared.descriptor, as: file.name)
  }

  /// Removes a picture; it is no error if the picture is already gone.
  func remove(_ file: PictureFile) throws(SystemFailure) {
    guard let shelf = try find(file.subdirectory) else { return }
    do { try shelf.directory.remove(file.name) } catch {
      switch error.errno {
      case ENOENT: return
      case EISDIR: try shelf.directory.setAside(file.name)  // not ours, things may be in it
      default: throw error
      }
    }
  }

  private func known(_ number: Int) -> Shelf? {
    let count = pictures.disturbanceCount
    if count != disturbanceCount { letGo() }
    disturbanceCount = count
    return shelves[number]
  }

  private func find(_ number: Int) throws(SystemFailure) -> Shelf? {
    if let shelf = known(number) { return shelf }
    guard let found = try pictures.subdirectory(number) else { return nil }
    let shelf = Shelf(found)
    keep(shelf, as: number)
    return shelf
  }

  /// Keeps a subdirectory open unless descriptors are short: then others need them more.
  private func keep(_ shelf: Shelf, as number: Int) { shelves[number] = shelf.directory.takesReserve ? nil : shelf }
}
