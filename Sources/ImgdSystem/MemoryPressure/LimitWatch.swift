import Glibc

/// Watches the counters in `memory.events`: how often a control group has reached its own limits.
final class LimitWatch {
  private let path: String
  private let callbacks: PressureCallbacks
  private var count: Int
  private var watch: BackoffWatch?

  /// A group without limits never reaches any, and is refused.
  init(of directory: String, loop: EventLoop, callbacks: PressureCallbacks) throws(PressureProblem) {
    path = directory + "/memory.events"
    self.callbacks = callbacks
    let notes = try Self.changes(of: path)
    guard let count = Self.count(in: path) else { throw .unreadable([path]) }
    guard Self.hasLimit(directory) else { throw .noLimit(directory) }
    self.count = count
    let number = notes.number
    watch = try BackoffWatch(notes, for: .read, on: loop) { [unowned self] _ in look(number) }
  }

  private func look(_ notes: CInt) -> Duration? {
    var room = [UInt8](repeating: 0, count: 4096)
    _ = unsafe read(notes, &room, room.count)
    guard let now = Self.count(in: path) else {
      callbacks.ended("\(path) can no longer be read")
      return nil
    }
    defer { count = now }
    return now > count ? callbacks.pressure() : PressureMonitor.pause
  }

  private static func changes(of path: String) throws(PressureProblem) -> FileDescriptor {
    let number = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw .call("inotify_init1", path) }
    let notes = FileDescriptor(owning: number)
    // The path is a C string for the length of the call.
    guard unsafe inotify_add_watch(number, path, UInt32(IN_MODIFY | IN_DELETE_SELF)) >= 0 else {
      throw .call("inotify_add_watch", path)
    }
    return notes
  }

  /// How often the kernel has throttled the group at one of its limits: the sum of `high` and `max`.
  static func count(in path: String) -> Int? {
    guard let text = SmallFile.text(path) else { return nil }
    let counts = text.split(separator: "\n").compactMap { line in
      ["high ", "max "].first(where: line.hasPrefix).flatMap { decimalNumber(line.utf8.dropFirst($0.utf8.count)) }
    }
    return counts.isEmpty ? nil : counts.reduce(0, &+)
  }

  private static func hasLimit(_ directory: String) -> Bool {
    ["/memory.high", "/memory.max"].contains { name in
      SmallFile.text(directory + name).map { !$0.hasPrefix("max") } ?? false
    }
  }
}
