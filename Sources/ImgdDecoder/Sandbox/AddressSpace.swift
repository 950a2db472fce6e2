import Glibc

/// The addresses and threads that the process has before it is shut off.
enum AddressSpace {
  /// The bytes of addresses in use; 0 where the kernel does not say.
  static var mapped: UInt64 { field("VmSize:").map { $0 * 1_024 } ?? 0 }

  /// Whether there is no other thread. A thread that has been joined may still be counted for a moment.
  static func isThreadAlone() -> Bool {
    for _ in 0..<patience {
      guard let threads = field("Threads:") else { return false }
      if threads == 1 { return true }
      usleep(1_000)
    }
    return false
  }

  /// How many milliseconds other threads are given to disappear.
  private static let patience = 200

  private static func field(_ name: String) -> UInt64? {
    let file = unsafe open("/proc/self/status", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var room = [UInt8](repeating: 0, count: 8_192)
    let count = unsafe read(file, &room, room.count)
    let text = String(decoding: room.prefix(max(0, count)), as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }) else { return nil }
    return line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst().first.flatMap { UInt64($0) }
  }
}
