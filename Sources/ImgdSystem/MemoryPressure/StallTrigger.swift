import Glibc

/// A PSI trigger of the kernel, which fires while tasks wait for memory.
///
/// Such a file is written once and never read: for reading it is always ready.
final class StallTrigger {
  /// Some task has waited for 200 ms out of 2 s, the shortest window without privileges.
  /// The zero is part of it: the kernel overwrites the last byte.
  static let usual = Array("some 200000 2000000\0".utf8)

  private let watch: BackoffWatch

  init(_ trigger: [UInt8], on path: String, loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    let access = trigger.isEmpty ? O_RDONLY : O_RDWR
    let number = unsafe open(path, access | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    guard number >= 0 else { throw .call("open", path) }
    let file = FileDescriptor(owning: number)
    try Self.refuseOrdinary(file, path, loop)
    try Self.set(trigger, on: file, path)
    watch = try BackoffWatch(file, for: .priority, on: loop) { events in
      guard events.contains(.hangup) else { return callbacks.pressure() }
      callbacks.ended("\(path) no longer fires")
      return nil
    }
  }

  /// A file that the kernel cannot poll is an ordinary one, and must not be written to.
  private static func refuseOrdinary(_ file: borrowing FileDescriptor, _ path: String, _ loop: EventLoop)
    throws(PressureProblem)
  {
    do throws(SystemFailure) { try loop.watch(file.number, for: .priority) { _ in }.cancel() } catch {
      throw error.errno == EPERM ? .ordinaryFile(path) : .system(error)
    }
  }

  /// In one write: the kernel accepts one trigger for each open file.
  private static func set(_ trigger: [UInt8], on file: borrowing FileDescriptor, _ path: String) throws(PressureProblem)
  {
    guard !trigger.isEmpty else { return }
    let count = unsafe write(file.number, trigger, trigger.count)
    guard count >= 0 else { throw .call("write", path) }
    guard count == trigger.count else { throw .cutShort(path) }
  }
}
