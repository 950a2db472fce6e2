import Glibc

/// The kernel's files about memory and control groups.
package struct PressurePaths: Sendable {
  /// The groups that the process is in.
  package var membership = "/proc/self/cgroup"
  /// The mounts, as the process sees them.
  package var mounts = "/proc/self/mountinfo"
  /// The stalls of the whole machine.
  package var stalls = "/proc/pressure/memory"

  package init() {}

  package static let system = PressurePaths()

  /// The directory of the process's own control group of version 2; nil when there is none.
  var ownCgroup: String? {
    guard let membership = SmallFile.text(membership), let mounts = SmallFile.text(mounts),
      let path = CgroupPath.own(in: membership)
    else { return nil }
    return CgroupPath.directory(of: path, in: mounts)
  }
}

/// Reads files of a few lines that the kernel generates.
enum SmallFile {
  /// More bytes than any of them has; the rest is not read.
  private static let limit = 1 << 20

  /// The whole text; nil when it cannot be read.
  static func text(_ path: String) -> String? {
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while bytes.count < limit {
      let count = unsafe read(file.number, &part, part.count)
      guard count >= 0 else { return nil }
      guard count > 0 else { break }
      bytes.append(contentsOf: part[..<count])
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
