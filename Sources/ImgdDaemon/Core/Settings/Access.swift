import ImgdCache
import ImgdProgram
import ImgdSystem

/// Who may do what: how much a user may have of what all share, whose work a user sees and may end, and whose pictures
/// it may remove.
///
/// Root and the user that the daemon runs as could read its memory and end it: nothing is kept from them. They and those
/// whom the operator names are administrators.
final class Access {
  /// The user that the daemon runs as.
  let owner: UInt32
  private var administrators: Members
  private var guests: Members?
  private var see = Whose.own
  private var purge = Whose.own
  /// Whether an entry that one user's fetch has left is found by all.
  private(set) var sharesEntries = true
  /// Whether a picture that is put is for all.
  private(set) var putsForAll = false
  /// Whether an entry has to know who else has asked for it.
  private(set) var keepsClaims = true
  private var database: GroupCache

  /// Only a test names other groups than those of the system.
  init(owner: UInt32, groups: @escaping (_ uid: UInt32) -> [UInt32] = UserDatabase.groups) {
    self.owner = owner
    administrators = Members(users: [0, owner])
    database = GroupCache(groups)
  }

  func apply(_ settings: Configuration.Control) {
    administrators = Members(settings.admins, of: "Control.Admins")
    administrators.users.formUnion([0, owner])
    guests = settings.allow.isEmpty ? nil : Members(settings.allow, of: "Control.Allow")
    see = settings.see
    purge = settings.purge
    sharesEntries = settings.share == .all
    putsForAll = settings.put == .all
    keepsClaims = see == .own || purge == .own
    database.empty()
  }

  /// Whether a user has no limit but those of all users together.
  func isUnbound(_ uid: UInt32) -> Bool { uid == 0 || uid == owner }

  func share(of uid: UInt32, in all: Int) -> Int { isUnbound(uid) ? all : max(all / 2, 1) }

  func isAdmin(_ peer: PeerCredentials) -> Bool { has(peer, administrators) }

  /// Whether a user may connect at all. What the socket's mode says comes before that.
  func mayConnect(_ peer: PeerCredentials) -> Bool { guests.map { has(peer, $0) || isAdmin(peer) } ?? true }

  func mayEnd(workOf other: UInt32, by peer: PeerCredentials) -> Bool { peer.uid == other || isAdmin(peer) }

  func seesEverything(_ peer: PeerCredentials) -> Bool { see == .all || isAdmin(peer) }

  /// The user of whose own answers tell; nil for who sees everything.
  func viewer(_ peer: PeerCredentials) -> UInt32? { seesEverything(peer) ? nil : peer.uid }

  func sees(workOf other: UInt32, by peer: PeerCredentials) -> Bool { peer.uid == other || seesEverything(peer) }

  func mayPurgeEverything(by peer: PeerCredentials) -> Bool { purge == .all || isAdmin(peer) }

  /// The tags that an entry gets for a fetch of a user: those of the request, as the user's own, and the user's claim.
  func tags(_ tags: [String], claimedBy uid: UInt32) -> [String] {
    keepsClaims ? tags.map { EntryTags.tag($0, of: uid) } + [EntryClaims.tag(of: uid)] : tags
  }

  private func has(_ peer: PeerCredentials, _ members: Members) -> Bool {
    if members.users.contains(peer.uid) || members.groups.contains(peer.gid) { return true }
    return !members.groups.isEmpty
      && !members.groups.isDisjoint(with: database.groups(of: peer.uid, at: .current))
  }
}

/// Users and groups, by number.
private struct Members {
  var users: Set<UInt32>
  var groups: Set<UInt32> = []

  init(users: Set<UInt32>) { self.users = users }

  /// A name that nobody has may get its user or group later, and the operator is told; but not of one that is there by
  /// default, since not every machine has that group.
  init(_ list: [Principal], of key: String) {
    self.init(users: [])
    for member in list {
      let number =
        member.isGroup ? UserDatabase.number(ofGroup: member.name) : UserDatabase.number(ofUser: member.name)
      guard let number else {
        guard !Configuration.Control().admins.contains(member) else { continue }
        Log.warning(
          .configuration, .userUnknown,
          "\(key): there is no \(member.isGroup ? "group" : "user") \(member.name): make it, and reload imgd")
        continue
      }
      if member.isGroup { groups.insert(number) } else { users.insert(number) }
    }
  }
}

/// The groups of a few users as the system's database has them: a user who was added to a group after logging in is a
/// member at once, and a flood of requests asks the database seldom.
private struct GroupCache {
  private static let most = 64
  private static let longest = Duration.seconds(5)

  private let ask: (_ uid: UInt32) -> [UInt32]
  private var known: [UInt32: (groups: [UInt32], since: Instant)] = [:]

  init(_ ask: @escaping (_ uid: UInt32) -> [UInt32]) { self.ask = ask }

  mutating func groups(of uid: UInt32, at now: Instant) -> [UInt32] {
    if let found = known[uid], now - found.since < Self.longest { return found.groups }
    if known.count >= Self.most { known = [:] }
    let groups = ask(uid)
    known[uid] = (groups, now)
    return groups
  }

  mutating func empty() { known = [:] }
}
