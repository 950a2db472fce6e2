import Glibc
import ImgdTestSupport

/// Makes a directory and all that is in it so that not even root can change it.
final class Freeze {
  private let path: String

  static let isPossible: Bool = {
    guard geteuid() == 0, let path = try? TemporaryDirectory.make() else { return false }
    defer { TemporaryDirectory.remove(path) }
    return (try? Freeze(path)) != nil
  }()

  init(_ path: String) throws {
    self.path = path
    try CacheFiles.shell("chattr -R +i \(path)")
  }

  deinit { thaw() }

  func thaw() { try? CacheFiles.shell("chattr -R -i \(path)") }
}
