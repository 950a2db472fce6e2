/// How much a user may have of what all share, and whose work a user may end.
///
/// Root and the user that the daemon runs as could end the daemon: nothing is kept from them. Anybody else may have
/// a half, so that no user is told that others have taken everything.
struct Access {
  /// The user that the daemon runs as.
  let owner: UInt32

  func isUnbound(_ uid: UInt32) -> Bool { uid == 0 || uid == owner }

  func share(of uid: UInt32, in all: Int) -> Int { isUnbound(uid) ? all : max(all / 2, 1) }

  func mayEnd(workOf other: UInt32, by uid: UInt32) -> Bool { uid == other || isUnbound(uid) }
}
