import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

/// Locks whose descriptor another process has a copy of, as a program has for a moment while it is
/// started.
final class ProcessLockTests {
  private let root: String

  init() throws {
    root = try ImgdTestSupport.TemporaryDirectory.make()
  }

  deinit { ImgdTestSupport.TemporaryDirectory.remove(root) }

  /// A copy of this process's descriptor of a file; the caller closes it.
  private func copy(of name: String) throws -> CInt {
    var wanted = stat()
    #expect(lstat(root + "/" + name, &wanted) == 0)
    let open = ImgdTestSupport.TemporaryDirectory.names(in: "/proc/self/fd").compactMap { CInt($0) }
    let number = open.first { number in
      var found = stat()
      return fstat(number, &found) == 0 && found.st_ino == wanted.st_ino
        && found.st_dev == wanted.st_dev
    }
    return fcntl(try #require(number), F_DUPFD_CLOEXEC, 0)
  }

  @Test func `a directory's lock ends with its holder, even if a child has a copy`() throws {
    let directory = try Directory(path: root)
    let number = try holdAndCopy(in: directory)
    defer { close(number) }
    #expect(number >= 0)
    guard case .held = try ProcessLock.acquire("lock", in: directory) else {
      Issue.record("it is still held")
      return
    }
  }

  /// Takes the lock and releases it at once.
  private func holdAndCopy(in directory: borrowing Directory) throws -> CInt {
    switch try ProcessLock.acquire("lock", in: directory) {
    case .held(let lock):
      let number = try copy(of: "lock")
      _ = consume lock
      return number
    default: throw TestFailure("the lock is not taken")
    }
  }

  @Test func `a socket's lock ends with its listener, even if a child has a copy`() throws {
    var listener: UnixListener? = try UnixListener(path: root + "/socket")
    let number = try copy(of: "socket.lock")
    defer { close(number) }
    #expect(number >= 0 && listener != nil)
    listener = nil
    #expect(throws: Never.self) { try UnixListener(path: self.root + "/socket") }
  }
}
