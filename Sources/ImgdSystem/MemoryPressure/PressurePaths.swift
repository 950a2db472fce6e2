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
    let bytes = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY).rest(limit, of: path)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}
