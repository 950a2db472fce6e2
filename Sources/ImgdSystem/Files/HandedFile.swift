import Glibc

/// What a client has handed in: a descriptor, which stays in the client's hands as well, or bytes inside its line.
///
/// Nothing that is done with the descriptor may be done on a loop: it may lead into a file system of the client's own,
/// which need not answer, not even to `close`.
package final class HandedFile: Sendable {
  /// A descriptor or bytes.
  package enum Content: Sendable {
    /// -1 for one that this process has no room for.
    case descriptor(number: CInt)
    case base64(String)
  }

  private let content: Locked<Content?>
  /// The bytes that it holds in memory.
  package let weight: Int

  package init(_ content: Content) {
    self.content = Locked(content)
    weight = if case .base64(let text) = content { text.utf8.count } else { 0 }
  }

  /// What nobody has closed is closed on a thread, too.
  deinit { _ = takeDescriptor(closesSlowly: true) }

  private func takeDescriptor(closesSlowly: Bool = false) -> FileDescriptor? {
    guard case .descriptor(let number)? = content.withLock({ $0.take() }), number >= 0 else { return nil }
    return FileDescriptor(owning: number, closesSlowly: closesSlowly)
  }

  /// Closes the descriptor, which may take for ever.
  package func close() { _ = takeDescriptor() }

  /// Why there is no copy of it.
  package enum Problem: Error {
    /// It is none of those that can be read from their beginning to their end.
    case isNoFile(FileStatus.Kind)
    case isTooLarge
    case isEmpty
    /// It turned out to be shorter or longer than it said.
    case hasChanged
    case isNotBase64
    /// This process has no descriptor left.
    case isLost
    case unreadable(SystemFailure)
  }

  /// Copies the bytes, at most so many, and closes the descriptor; either may take for ever.
  package func copy(within most: Int) -> Result<Payload, Problem> {
    guard case .base64(let text)? = content.withLock({ $0 }) else { return copyDescriptor(within: most) }
    guard let bytes = Base64Decoder.bytes(text) else { return .failure(.isNotBase64) }
    guard bytes.count <= most else { return .failure(.isTooLarge) }
    guard !bytes.isEmpty else { return .failure(.isEmpty) }
    return .success(Payload(bytes))
  }

  private func copyDescriptor(within most: Int) -> Result<Payload, Problem> {
    guard let descriptor = takeDescriptor() else { return .failure(.isLost) }
    do throws(SystemFailure) {
      let status = try descriptor.status("a descriptor")
      guard status.kind == .regular else { return .failure(.isNoFile(status.kind)) }
      guard status.size > 0 else { return .failure(.isEmpty) }
      guard status.size <= most else { return .failure(.isTooLarge) }
      return try Payload.read(descriptor, count: status.size).map { .success($0) } ?? .failure(.hasChanged)
    } catch { return .failure(.unreadable(error)) }
  }
}
