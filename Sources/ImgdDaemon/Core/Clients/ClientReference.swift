/// A connection as the work that is done for it knows it: there until it is closed.
///
/// It stands for a weak reference, which would give the session a side table, and make every reference
/// count slow from then on.
final class ClientReference {
  private(set) var session: ClientSession?

  init(_ session: ClientSession) {
    self.session = session
  }

  /// The connection is closed.
  func end() { session = nil }
}
