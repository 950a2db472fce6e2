import Glibc
import ImgdTestSupport

/// Programs in a unit's group that read more than they may keep, and wait for memory all the time.
///
/// What they read comes from a disk, and what they may hold is a limit of their own: nothing is
/// killed, and the machine outside has enough.
final class Shortage {
  private let machine: Machine
  private let file: String
  private let readers: pid_t

  /// Does something while tasks of the unit wait.
  static func during<Result>(
    in machine: Machine, of unit: String, _ body: () throws -> Result
  ) throws -> Result {
    let shortage = try Shortage(in: machine, of: unit)
    defer { shortage.end() }
    return try body()
  }

  private init(in machine: Machine, of unit: String) throws {
    guard access(machine.path("/mnt/memory"), F_OK) == 0 else {
      throw TestFailure("there is no memory controller to make a shortage with")
    }
    self.machine = machine
    // Each machine's own: there may be two at a time.
    file = Project.path(".build/shortage-\(machine.number)")
    // No task waits for pages that are in memory already.
    try machine.perform(
      """
      set -e
      mkdir /mnt/memory/shortage
      echo 16M >/mnt/memory/shortage/memory.limit_in_bytes
      dd if=/dev/zero of=\(file) bs=1M count=256 conv=fsync status=none
      dd of=\(file) oflag=nocache conv=notrunc,fdatasync count=0 status=none
      """, within: 180)
    readers = try machine.begin(
      """
      echo $$ >/mnt/memory/shortage/cgroup.procs
      echo $$ >/sys/fs/cgroup/system.slice/\(unit)/cgroup.procs
      for number in 1 2 3 4 5 6; do
        while :; do cat \(file) >/dev/null; done &
      done
      wait
      """, within: 180)
  }

  /// Ends the readers, and what they start meanwhile.
  private func end() {
    _ = try? machine.run(
      "while set -- $(cat /mnt/memory/shortage/cgroup.procs); [ $# -gt 0 ]; do kill -KILL $@; done")
    _ = ChildProcess.wait(readers)
    unlink(file)
  }
}
