import Glibc

/// Records changes in some directories: files removed, moved, replaced or changed.
///
/// It wakes nothing. A caller that relies on an earlier look at the files asks first whether anything
/// has happened since, which is one system call for any number of files; the kernel records a change
/// before the call that made it returns.
package final class DirectoryWatch {
  /// A change in a watched directory, or of the directory itself.
  package struct Event {
    /// The directory, as returned by `add`; nil when events have been lost.
    package let directory: CInt?
    /// The name of the file; nil when the directory itself has changed.
    package let name: String?
  }

  /// When a file is moved over another one, the kernel says only that a file was moved to that name.
  private static let interest =
    UInt32(IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
    | UInt32(IN_ONLYDIR | IN_DONT_FOLLOW)
  /// Room for many events; the longest has a name of 256 bytes.
  private static let room = 16 * 1024
  private static let longestEvent = 16 + 256

  private let descriptor: FileDescriptor
  private var buffer = [UInt8](repeating: 0, count: room)

  package init() throws(SystemFailure) {
    let number = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
    guard number >= 0 else { throw SystemFailure("inotify_init1") }
    descriptor = FileDescriptor(owning: number)
  }

  /// Watches a directory from now on; returns the number that its events carry.
  ///
  /// Without `noticesWriting`, writing to its files causes no events.
  package func add(_ path: String, noticesWriting: Bool = true) throws(SystemFailure) -> CInt {
    let interest = Self.interest | (noticesWriting ? UInt32(IN_MODIFY) : 0)
    let number = unsafe inotify_add_watch(descriptor.number, path, interest)
    guard number >= 0 else { throw SystemFailure("inotify_add_watch", path) }
    return number
  }

  /// The events since the last call, oldest first; usually none.
  package func events() -> [Event] {
    var events: [Event] = []
    while case let count = unsafe read(descriptor.number, &buffer, buffer.count), count > 0 {
      append(to: &events, from: count)
      // There was room for another event: no more are waiting.
      if count <= buffer.count - Self.longestEvent { break }
    }
    return events
  }

  /// An event is four numbers of 32 bits, the last the length of a name that is padded with zeros.
  private func append(to events: inout [Event], from count: Int) {
    var offset = 0
    while offset + 16 <= count {
      let directory = CInt(bitPattern: word(at: offset))
      let length = Int(word(at: offset + 12))
      let end = min(offset + 16 + length, count)
      let name = buffer[(offset + 16)..<end].prefix { $0 != 0 }
      events.append(
        Event(
          directory: directory < 0 ? nil : directory, name: name.isEmpty ? nil : String(decoding: name, as: UTF8.self)))
      offset = end
    }
  }

  private func word(at offset: Int) -> UInt32 { (0..<4).reversed().reduce(0) { $0 << 8 | UInt32(buffer[offset + $1]) } }
}
