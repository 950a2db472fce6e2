import Glibc

/// Files as they lie on disk.
package enum CacheFiles {
  /// Everything below a directory that is not a directory itself.
  package static func below(_ directory: String) -> [String] {
    TemporaryDirectory.names(in: directory).flatMap { name in
      let path = directory + "/" + name
      return kind(of: path) == S_IFDIR ? below(path) : [path]
    }
  }

  package static func status(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }

  package static func kind(of path: String) -> mode_t? {
    status(of: path).map { $0.st_mode & S_IFMT }
  }

  package static func exists(_ path: String) -> Bool { status(of: path) != nil }

  /// Replaces the contents of a file, which keeps its name and its inode.
  package static func overwrite(_ path: String, _ bytes: [UInt8]) throws {
    let file = open(path, O_WRONLY | O_TRUNC)
    guard file >= 0 else { throw TestFailure("\(path): errno \(errno)") }
    defer { close(file) }
    guard write(file, bytes, bytes.count) == bytes.count else {
      throw TestFailure("\(path): errno \(errno)")
    }
  }

  /// Runs a shell line that must succeed.
  package static func shell(_ line: String) throws {
    let run = try ChildProcess.run("/bin/sh", ["-c", line])
    guard run.code == 0 else { throw TestFailure("\(line): \(run.output)") }
  }
}
