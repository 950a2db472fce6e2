private import CBench
import Glibc

/// A file system in memory, for files that cost what they cost the kernel, and no disk.
///
/// It is ext4 with a journal, as users have it: without one ext4 looks for inodes that were not freed
/// lately, which costs more than all the rest. Only this process and its children see it.
final class MemoryDisk {
  enum Kind: String {
    case tmpfs, ext4
  }

  let path: String
  private let image = "/dev/shm/imgd-bench-\(getpid()).ext4"
  private let log: String

  init(_ bench: Bench, _ kind: Kind) throws(BenchFailure) {
    guard geteuid() == 0 else { throw .unavailable("only root can mount a file system") }
    guard bench_private_mounts() == 0 else { throw .system("unshare", "the mounts") }
    path = try bench.directory(kind.rawValue)
    log = bench.path("mount.log")
    switch kind {
    case .tmpfs: try Child.finish(["mount", "-t", "tmpfs", "imgd-bench", path], log: log)
    case .ext4:
      try Child.finish(["truncate", "--size=1G", image], log: log)
      try Child.finish(["mkfs.ext4", "-q", "-F", image], log: log)
      try Child.finish(["mount", "-o", "loop", image, path], log: log)
    }
  }

  deinit {
    try? Child.finish(["umount", "--lazy", path], log: log)
    unsafe unlink(image)
  }
}

/// Processor time of programs that were run to their end.
enum EndedChildren {
  static var processorTime: Double { Double(bench_children_ns()) / 1e9 }
}
