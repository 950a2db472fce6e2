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

  static func text(_ path: String) -> String? {
    let bytes = try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY).rest(limit, of: path)
    return bytes.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Finds a control group's directory from the kernel's lists of memberships and mounts.
enum CgroupPath {
  /// The process's own group of version 2: the line of `/proc/self/cgroup` that begins with `0::`.
  static func own(in membership: String) -> String? {
    for line in membership.split(separator: "\n") where line.hasPrefix("0::/") {
      let path = String(line.dropFirst(3))
      // A group outside of this process's cgroup namespace has no directory in it.
      return path.split(separator: "/").contains("..") ? nil : path
    }
    return nil
  }

  /// A group's directory below a mount of version 2, which may show only a part of the tree.
  static func directory(of path: String, in mounts: String) -> String? {
    for line in mounts.split(separator: "\n") {
      guard let mount = Mount(line), let rest = mount.rest(of: path) else { continue }
      return mount.point + rest
    }
    return nil
  }

  /// A line of `/proc/self/mountinfo` about a tree of version 2.
  private struct Mount {
    let root: String
    let point: String

    /// `36 35 98:0 ROOT POINT rw,noatime shared:1 … - cgroup2 …`: the number of fields before the hyphen varies.
    init?(_ line: Substring) {
      let fields = line.split(separator: " ")
      guard fields.count > 5, let hyphen = fields[5...].firstIndex(of: "-"), fields.indices.contains(hyphen + 1),
        fields[hyphen + 1] == "cgroup2"
      else { return nil }
      root = unescaped(fields[3])
      point = unescaped(fields[4])
    }

    /// The part of a group's path that lies below the mount; nil when the group is not in it.
    func rest(of path: String) -> String? {
      if root == "/" { return path == "/" ? "" : path }
      guard path.hasPrefix(root) else { return nil }
      let rest = path.dropFirst(root.count)
      return rest.isEmpty || rest.hasPrefix("/") ? String(rest) : nil
    }
  }

  /// Blanks, tabs, line ends and backslashes are written as three octal digits after a backslash.
  private static func unescaped(_ field: Substring) -> String {
    var bytes: [UInt8] = []
    var left = field.utf8[...]
    while let byte = left.popFirst() {
      let digits = left.prefix(3)
      if byte == UInt8(ascii: "\\"), digits.count == 3, let code = UInt8(Substring(digits), radix: 8) {
        bytes.append(code)
        left = left.dropFirst(3)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
