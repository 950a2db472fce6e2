import Glibc
import ImgdTestSupport

/// A disk with an ext4 of its own, whose power can be cut.
///
/// The disk is a file on a btrfs, which copies it at one instant: what the file system above has handed to its disk by then
/// is there, and nothing else. Mounts are for the namespace of this process.
final class BlockDisk {
  /// Where it is mounted.
  let path: String
  private let home: String
  private var noise = Noise(seed: 5)
  private var device = ""
  private var image: String { home + "/outer/disk.img" }

  init(megabytes: Int, in home: String) throws {
    self.home = home
    path = home + "/disk"
    try CacheFiles.shell(
      """
      set -e
      mkdir -p \(home)/outer \(path)
      truncate -s 2G \(home)/outer.img
      mkfs.btrfs -q \(home)/outer.img
      mount -o loop \(home)/outer.img \(home)/outer
      truncate -s \(megabytes)M \(image)
      mkfs.ext4 -q -m 0 \(image)
      """)
    try insert()
  }

  deinit {
    try? CacheFiles.shell("umount -l \(path); losetup -d \(device); umount -l \(home)/outer")
  }

  // MARK: Room

  func fill() throws { try CacheFiles.shell("dd if=/dev/zero of=\(path)/ballast bs=64k 2>/dev/null; true") }

  func makeRoom() { unlink(path + "/ballast") }

  /// Removes a directory, in which somebody may be making files meanwhile.
  func remove(_ name: String) throws {
    let directory = path + "/" + name
    _ = try becomes {
      try? CacheFiles.shell("rm -rf \(directory)")
      return !CacheFiles.exists(directory)
    }
  }

  // MARK: Damage

  /// Changes every third file below a directory, or takes its end away. The index is another matter.
  func damage(filesBelow name: String) throws {
    for (number, file) in CacheFiles.below(path + "/" + name).enumerated() where !file.contains("/index.db") {
      if number % 6 == 0 { try damage(file) }
      if number % 6 == 3 { truncate(file, CacheFiles.status(of: file).map { $0.st_size / 2 } ?? 0) }
    }
  }

  /// Puts noise in place of some bytes in the middle of a file.
  func damage(_ file: String) throws {
    guard let size = CacheFiles.status(of: file)?.st_size, size > 0 else { return }
    let descriptor = open(file, O_WRONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let bytes = noise.bytes(min(64, Int(size)))
    let place = off_t.random(in: 0...(size - off_t(bytes.count)), using: &noise)
    guard pwrite(descriptor, bytes, bytes.count, place) == bytes.count else {
      throw TestFailure("\(file): errno \(errno)")
    }
  }

  // MARK: There and gone

  /// Takes the file system away from under those who use it, until `mount`.
  func unmount() throws { try CacheFiles.shell("umount -l \(path)") }

  func mount() throws { try CacheFiles.shell("mount \(device) \(path)") }

  /// Copies what has reached the disk, as a machine finds it that lost its power at this instant.
  func copy() throws { try CacheFiles.shell("cp --reflink=always \(image) \(home)/outer/cut.img") }

  /// Goes on with the copy. Nobody may use the file system.
  func restart() throws {
    try CacheFiles.shell("umount -l \(path) && losetup -d \(device) && mv \(home)/outer/cut.img \(image)")
    try insert()
  }

  /// Whether the file system is sound, after `unmount`.
  func check() throws -> String {
    let check = try ChildProcess.run("/sbin/e2fsck", ["-f", "-n", device])
    return check.code == 0 ? "" : check.output
  }

  private func insert() throws {
    let loop = try ChildProcess.run("/sbin/losetup", ["--find", "--show", image])
    guard loop.code == 0 else { throw TestFailure("losetup: \(loop.output)") }
    device = String(loop.output.split(separator: "\n").last ?? "")
    try mount()
  }
}
