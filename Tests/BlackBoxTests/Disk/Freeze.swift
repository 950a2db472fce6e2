import Glibc
import ImgdTestSupport

/// Makes a directory and all that is in it so that not even root can change it.
final class Freeze {
  private let path: String

  /// Some file systems, such as tmpfs, go on with files that are open.
  static let isPossible: Bool = {
    guard geteuid() == 0, let path = try? TemporaryDirectory.make() else { return false }
    defer { TemporaryDirectory.remove(path) }
    let file = open(path + "/open", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
    defer { close(file) }
    guard let freeze = try? Freeze(path) else { return false }
    defer { freeze.thaw() }
    return write(file, "a", 1) < 0
  }()

  init(_ path: String) throws {
    self.path = path
    try CacheFiles.shell("chattr -R +i \(path)")
  }

  deinit { thaw() }

  func thaw() { try? CacheFiles.shell("chattr -R -i \(path)") }
}
