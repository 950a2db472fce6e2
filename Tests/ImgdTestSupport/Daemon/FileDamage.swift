import Glibc

/// What may have become of a file behind the daemon's back.
package struct FileDamage: Sendable, CustomStringConvertible {
  package let description: String
  /// It shows only in a comparison with the checksum.
  package var needsChecksum = false
  /// There is something that is not what was stored, instead of nothing.
  package var isCorrupt = true
  /// What was put in its place must still be there afterwards, as somebody else's.
  package let damage: @Sendable (String) throws -> Void

  package static let all: [FileDamage] = [
    FileDamage(description: "deleted", isCorrupt: false) { unlink($0) },
    FileDamage(description: "emptied") { truncate($0, 0) },
    FileDamage(description: "truncated") { truncate($0, 999) },
    FileDamage(description: "grown") { truncate($0, 1_001) },
    FileDamage(description: "flipped", needsChecksum: true) { path in
      guard var bytes = readBytes(path) else { throw TestFailure("\(path) is not there") }
      bytes[500] ^= 1
      try CacheFiles.overwrite(path, bytes)
    },
    FileDamage(description: "a link") { path in
      unlink(path)
      symlink("/etc/passwd", path)
    },
    FileDamage(description: "a link to itself, moved away") { path in
      rename(path, path + ".moved")
      symlink(path + ".moved", path)
    },
    FileDamage(description: "a directory with something in it") { path in
      unlink(path)
      mkdir(path, 0o755)
      try write("theirs", to: path + "/theirs")
    },
    FileDamage(description: "a pipe that nobody writes to") { path in
      unlink(path)
      mkfifo(path, 0o640)
    },
    FileDamage(description: "writable by everybody") { chmod($0, 0o666) },
    FileDamage(description: "somebody else's") { chown($0, 65_534, 65_534) },
  ]
}
