import Glibc
internal import ImgdSystem

/// Keeps purges in a file of their own when they could not be written into the index file.
///
/// The file lies in the first directory that can be written: the runtime directory, which is
/// in memory, or else the cache directory itself. It is written as a whole and then renamed, so
/// a kill leaves either the old file or the new one. Its name has a digest of the cache directory's path,
/// so that two daemons don't carry out each other's purges.
struct OwedFile: Sendable {
  private static let rights: mode_t = 0o600
  /// Far more than the purges take that are ever written to it.
  private static let mostBytes = 4 << 20

  private let paths: [String]

  /// `runtime` is a directory that is emptied when the machine starts; nil if there is none.
  init(runtime: String?, cache: String) {
    let digest = KeyDigest(url: cache, identifier: nil).hex
    paths = [runtime, cache].compactMap(\.self).map { "\($0)/purges-\(digest)" }
  }

  // MARK: Writing

  /// Writes down purges in place of those that the file had.
  func write(_ orders: [RemovalOrder]) throws(SystemFailure) {
    let bytes = OwedCodec.encode(orders)
    var failure: SystemFailure?
    for path in paths {
      do throws(SystemFailure) {
        try write(bytes, to: path)
        for other in paths where other != path { unsafe _ = unlink(other) }
        return
      } catch { failure = failure ?? error }
    }
    if let failure { throw failure }
  }

  func remove() { for path in paths { unsafe _ = unlink(path) } }

  private func write(_ bytes: [UInt8], to path: String) throws(SystemFailure) {
    let new = path + ".new"
    unsafe _ = unlink(new)
    let number = unsafe open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, Self.rights)
    guard number >= 0 else { throw SystemFailure("create", new) }
    do throws(SystemFailure) {
      let file = FileDescriptor(owning: number)
      try Self.write(bytes, to: file, new)
      guard unsafe rename(new, path) == 0 else { throw SystemFailure("rename", new) }
    } catch {
      unsafe _ = unlink(new)
      throw error
    }
  }

  private static func write(_ bytes: [UInt8], to file: borrowing FileDescriptor, _ path: String) throws(SystemFailure) {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { bytes in
        unsafe Glibc.write(file.number, bytes.baseAddress?.advanced(by: done), bytes.count - done)
      }
      guard count >= 0 || errno == EINTR else { throw SystemFailure("write", path) }
      done += max(count, 0)
    }
  }

  // MARK: Reading

  /// The purges that an earlier process has left, in any of the directories.
  func read() -> [RemovalOrder] { paths.flatMap { path in Self.bytes(of: path).map { OwedCodec.decode($0) } ?? [] } }

  private static func bytes(of path: String) -> [UInt8]? {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    guard let status = try? file.status(path), status.owner == geteuid(), status.kind == .regular,
      status.size <= mostBytes
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: status.size)
    let count = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe Glibc.read(file.number, bytes.baseAddress, bytes.count)
    }
    return count == bytes.count ? bytes : nil
  }
}
