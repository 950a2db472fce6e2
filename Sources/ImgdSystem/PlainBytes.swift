internal import CLinux

/// The bytes of a body in the process's own memory: collected by one owner, and never changed once others have them.
@safe final class PlainBytes: @unchecked Sendable {
  // Unchecked: bytes are added only while nobody else has the object.

  /// The object itself, as malloc rounds it.
  private static let bookkeeping = 48

  private var start: UnsafeMutableRawPointer
  private var room: Int
  private(set) var count = 0

  /// No bytes, and room for so many without being moved.
  init(room: Int = 0) {
    self.room = room
    unsafe start = BodySlabs.shared.allocate(room)
  }

  convenience init(_ bytes: Span<UInt8>) {
    self.init(room: bytes.count)
    unsafe bytes.withUnsafeBytes { unsafe append($0) }
  }

  deinit { unsafe BodySlabs.shared.release(start, room) }

  /// The memory that it takes.
  var cost: Int { BodySlabs.taken(room) + Self.bookkeeping }

  var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: start, count: count) }

  func withBytes<R, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
    // The memory goes with the object.
    defer { withExtendedLifetime(self) {} }
    return try body(unsafe bytes.bindMemory(to: UInt8.self).span)
  }

  /// Makes room for so many bytes in all.
  func reserve(_ wanted: Int) { if wanted > room { resize(wanted) } }

  func append(_ more: UnsafeRawBufferPointer) {
    if count + more.count > room { resize(max(count + more.count, 2 * room)) }
    unsafe UnsafeMutableRawBufferPointer(start: start + count, count: more.count).copyMemory(from: more)
    count += more.count
  }

  /// Fills the rest of the room by `read`, which returns how many bytes it has written; returns whether it is full.
  func fill<E: Error>(by read: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) -> Bool {
    count += try unsafe read(UnsafeMutableRawBufferPointer(start: start + count, count: room - count))
    return count == room
  }

  /// Gives up the room that no bytes are in.
  func trim() { if count < room { resize(count) } }

  private func resize(_ wanted: Int) {
    unsafe start = BodySlabs.shared.resize(start, from: room, to: wanted)
    room = wanted
  }
}

/// The memory in which bodies up to `Payload.heapLimit` lie; for larger ones it asks malloc.
@safe package struct BodySlabs: @unchecked Sendable {
  // Unchecked: the slabs have a lock.

  /// Those of this process.
  package static let shared = BodySlabs()

  private let slabs: OpaquePointer

  init() { unsafe slabs = Self.present(slabs_make()) }

  /// Like Swift's own allocations, there is no going on without memory.
  private static func present<Place>(_ place: Place?) -> Place {
    guard let place else { fatalError("out of memory") }
    return place
  }

  func allocate(_ bytes: Int) -> UnsafeMutableRawPointer { unsafe Self.present(slabs_allocate(slabs, bytes)) }

  /// Frees memory that was allocated for, or resized to, so many bytes.
  func release(_ place: UnsafeMutableRawPointer, _ bytes: Int) { unsafe slabs_release(slabs, place, bytes) }

  /// Makes it smaller, where it is, or larger, where it may have to move.
  func resize(_ place: UnsafeMutableRawPointer, from: Int, to: Int) -> UnsafeMutableRawPointer {
    unsafe Self.present(slabs_resize(slabs, place, from, to))
  }

  /// What so many bytes take of it.
  static func taken(_ bytes: Int) -> Int { slabs_taken(bytes) }

  /// The memory between bodies and behind them, in which others will lie.
  package var unused: Int { unsafe slabs_unused(slabs) }

  /// Returns to the kernel what is held for the next body; slabs without a body are returned by themselves.
  package func giveBack() { unsafe slabs_give_back(slabs) }
}
