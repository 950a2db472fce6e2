/// Many bodies in one memfd, one after the other, sealed when the last is in it.
///
/// It is for whoever keeps descriptors for us: to keep five hundred costs the service manager a
/// hundred thousand comparisons.
package struct PayloadPack: ~Copyable {
  private var memory: MemoryWriter?
  private var count = 0

  package init() {}

  /// Whether there is no memfd yet.
  package var isEmpty: Bool { memory == nil }

  /// Adds a copy of a body to the end; answers where it begins.
  package mutating func append(_ payload: Payload) throws(SystemFailure) -> Int {
    if memory == nil { memory = try MemoryWriter() }
    try memory?.append(payload)
    defer { count += payload.count }
    return count
  }

  /// All the bodies; nil when there are none.
  package consuming func seal() throws(SystemFailure) -> Payload? {
    guard let memory else { return nil }
    return Payload(sealed: try memory.seal())
  }
}
