// A picture appears under its name complete or not at all: it is written to a temporary file in the same
// directory, which is then renamed. Ctrl-C ends imgctl at once, so the signal is blocked while there is a
// temporary file.

import Glibc
import ImgdSystem

/// Copies pictures from descriptors to files.
enum OutputFile {
  /// Writes a picture to a file and replaces an existing one. If the path is a pipe or a device, the
  /// picture is written into it.
  static func write(
    _ picture: borrowing FileDescriptor, to path: String
  ) throws(SystemFailure) {
    if isSpecial(path) { return try copy(picture, into: path) }
    let interrupt = HeldInterrupt()
    defer { interrupt.release() }
    let temporary = temporaryName(beside: path)
    // The paths are C strings for the length of each call.
    let number = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard number >= 0 else { throw SystemFailure("create", path) }
    let file = FileDescriptor(owning: number)
    do throws(SystemFailure) {
      let target = file.number
      try read(picture) { bytes throws(SystemFailure) in
        try writeAll(bytes, to: target, named: path)
      }
      guard unsafe rename(temporary, path) == 0 else { throw SystemFailure("write", path) }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
  }

  private static func isSpecial(_ path: String) -> Bool {
    var status = stat()
    // The path is a C string for the length of the call, and the status lives on this stack.
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
  }

  private static func copy(
    _ picture: borrowing FileDescriptor, into path: String
  ) throws(SystemFailure) {
    // The path is a C string for the length of the call.
    let number = unsafe open(path, O_WRONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemFailure("open", path) }
    let target = FileDescriptor(owning: number)
    let opened = target.number
    try read(picture) { bytes throws(SystemFailure) in
      try writeAll(bytes, to: opened, named: path)
    }
  }

  /// Reads a whole picture from its beginning, whatever the file offset of its descriptor is.
  static func read(
    _ picture: borrowing FileDescriptor, _ body: ([UInt8]) throws(SystemFailure) -> Void
  ) throws(SystemFailure) {
    var position: off_t = 0
    while true {
      let bytes = try read(picture, at: position)
      if bytes.isEmpty { return }
      try body(bytes)
      position += off_t(bytes.count)
    }
  }

  /// Writes all bytes to a descriptor, in as many calls as it needs.
  static func writeAll(
    _ bytes: [UInt8], to number: CInt, named name: String
  ) throws(SystemFailure) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[written...])
        return unsafe Glibc.write(number, rest.baseAddress, rest.count)
      }
      guard count >= 0 || errno == EINTR else { throw SystemFailure("write", name) }
      written += max(count, 0)
    }
  }

  private static func read(
    _ picture: borrowing FileDescriptor, at position: off_t
  ) throws(SystemFailure) -> [UInt8] {
    let number = picture.number
    var count = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 1 << 18) { room, filled in
      repeat {
        // Fills at most the size of the buffer.
        count = unsafe pread(number, room.baseAddress, room.count, position)
      } while count < 0 && errno == EINTR
      filled = max(count, 0)
    }
    guard count >= 0 else { throw SystemFailure("read", "the picture") }
    return bytes
  }

  private static func temporaryName(beside path: String) -> String {
    let cut = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let suffix = String(UInt64.random(in: .min ... .max), radix: 36)
    return path[..<cut] + ".imgctl-" + suffix + ".part"
  }
}

/// Blocks SIGINT and SIGTERM from its creation until `release`.
private struct HeldInterrupt {
  private var before = sigset_t()

  init() {
    var held = sigset_t()
    // Fills and reads sets that live on this stack.
    unsafe sigemptyset(&held)
    unsafe sigaddset(&held, SIGINT)
    unsafe sigaddset(&held, SIGTERM)
    unsafe pthread_sigmask(SIG_BLOCK, &held, &before)
  }

  func release() {
    var restored = before
    unsafe pthread_sigmask(SIG_SETMASK, &restored, nil)
  }
}
