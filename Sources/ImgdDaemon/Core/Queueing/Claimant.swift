/// The one for whom something waits: a connection, or a share of one. Without a connection it is a user.
struct Claimant: Hashable {
  let uid: UInt32
  var connection: UInt64?
  /// As the request names it.
  var share: String?

  /// The member at that level that this is, or that it belongs to.
  func member(at level: TurnLevel) -> Claimant {
    switch level {
    case .user: Claimant(uid: uid)
    case .connection: Claimant(uid: uid, connection: connection)
    case .share: self
    }
  }
}

/// Those who take turns with each other: users, the connections of a user, the shares of a connection. All that names
/// no share counts as one share.
enum TurnLevel: Int { case user, connection, share }
