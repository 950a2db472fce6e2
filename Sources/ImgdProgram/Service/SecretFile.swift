import Glibc
internal import ImgdSystem

/// A file that cannot be used as a secret, in a sentence for the operator.
package struct SecretFileProblem: Error, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// A file of keys, tokens or passwords, which only its owner and a group may read.
package struct SecretFile {
  /// What a container's runtime puts here is for that container alone, whose users may all read it.
  private static let runtimeDirectories = ["/run/secrets/", "/var/run/secrets/"]
  /// A longer file is something else.
  private static let longest = 64 * 1024

  package let bytes: [UInt8]
  /// Another number after each change of the file.
  package let stamp: UInt64

  /// Reads the whole file that a key of the configuration names. It asks the disk, which may take any time.
  package init(_ path: String, for key: String) throws(SecretFileProblem) {
    let status: FileStatus
    do throws(SystemFailure) {
      // A pipe without a writer must not hold anything up.
      let file = try FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK)
      status = try file.status(path)
      guard status.kind == .regular else { throw SystemFailure("read", path, errno: EINVAL) }
      bytes = try file.rest(Self.longest + 1, of: path)
    } catch { throw SecretFileProblem("\(key)=\(path) cannot be read: \(error.reason)") }
    stamp = status.stamp
    let isForContainer = Self.runtimeDirectories.contains { path.hasPrefix($0) }
    guard status.permissions & 0o007 == 0 || isForContainer && status.permissions & 0o002 == 0 else {
      throw SecretFileProblem(
        "\(key)=\(path) is open to every user (mode 0\(String(status.permissions, radix: 8)));"
          + " give it mode 0640 and a group of the service")
    }
    guard bytes.count <= Self.longest else {
      throw SecretFileProblem("\(key)=\(path) has more than \(Self.longest) bytes, where a few lines are expected")
    }
  }

  /// The stamp of the file as it is now, that of its target for a link; 0 where there is none.
  package static func stamp(of path: String) -> UInt64 {
    (try? FileDescriptor(opening: path, O_RDONLY | O_NONBLOCK).status(path).stamp) ?? 0
  }
}
