/// The places of connections, and how many of them each user has.
///
/// A user may have a share of them (`Access`), so that one cannot shut out the others. Root has a few more, so that
/// users who take all the others do not shut out the operator; but not where root runs the daemon, since all its
/// clients may be root's.
struct ClientPlaces {
  private static let placesForRoot = 8

  var limit: Int
  private let access: Access
  private(set) var count = 0
  private var users: [UInt32: Int] = [:]

  init(limit: Int, _ access: Access) {
    self.limit = limit
    self.access = access
  }

  /// The limit that one more connection of the user would exceed, and whose it is; nil if it may come.
  func reachedLimit(for uid: UInt32) -> (limit: Int, scope: LimitScope)? {
    let places = uid == 0 && access.owner != 0 ? limit + Self.placesForRoot : limit
    if count >= places { return (limit, .daemon) }
    let share = access.share(of: uid, in: places)
    return users[uid, default: 0] >= share ? (share, .user) : nil
  }

  mutating func occupy(for uid: UInt32) {
    count += 1
    users[uid, default: 0] += 1
  }

  mutating func giveBack(of uid: UInt32) {
    count -= 1
    users.countDown(uid)
  }
}
