import ImgdSystem
import Testing

@testable import ImgdDaemon

/// The roles, without anything that asks for them.
struct AccessTests {
  private final class Database {
    var groups: [UInt32: [UInt32]] = [:]
    var asked = 0
  }

  private let database = Database()

  private func access(_ change: (inout Configuration.Control) -> Void = { _ in }) -> Access {
    let access = Access(owner: 900) { [database] uid in
      database.asked += 1
      return database.groups[uid] ?? []
    }
    var control = Configuration.Control()
    control.admins = [Principal(name: "77"), Principal(name: "555", isGroup: true)]
    change(&control)
    access.apply(control)
    return access
  }

  private func peer(_ uid: UInt32, gid: UInt32 = 1) -> PeerCredentials { PeerCredentials(pid: 1, uid: uid, gid: gid) }

  @Test func `administrators are root, the daemon's user, and those who are named`() {
    let access = access()
    database.groups[1_001] = [100, 555]
    for (uid, gid, isAdmin) in [
      (0, 1, true), (900, 1, true), (77, 1, true), (1_000, 555, true), (1_001, 1, true), (1_002, 1, false),
    ] as [(UInt32, UInt32, Bool)] {
      #expect(access.isAdmin(peer(uid, gid: gid)) == isAdmin, "\(uid)")
      #expect(access.sees(workOf: 5, by: peer(uid, gid: gid)) == isAdmin)
      #expect(access.mayPurgeEverything(by: peer(uid, gid: gid)) == isAdmin)
    }
    #expect(access.sees(workOf: 1_002, by: peer(1_002)))
  }

  @Test func `a flood of questions asks the database once for each user, and remembers a bounded number`() {
    let access = access()
    for _ in 0..<1_000 { _ = access.isAdmin(peer(1_001)) }
    #expect(database.asked == 1)
    for uid in 2_000..<12_000 as Range<UInt32> { _ = access.isAdmin(peer(uid)) }
    #expect(database.asked == 10_001)
    _ = access.isAdmin(peer(1_001))
    #expect(database.asked == 10_002)
  }

  @Test func `who may connect is named, and so are administrators`() {
    let access = access { $0.allow = [Principal(name: "1000"), Principal(name: "600", isGroup: true)] }
    database.groups[1_001] = [600]
    #expect([1_000, 1_001, 77, 0, 900].allSatisfy { access.mayConnect(peer($0)) })
    #expect(!access.mayConnect(peer(1_002)))
    #expect(self.access().mayConnect(peer(1_002)))
  }

  @Test func `names that nobody has let nobody in`() {
    let access = access {
      $0.allow = [Principal(name: "no-such-user"), Principal(name: "no-such-group", isGroup: true)]
    }
    #expect(!access.mayConnect(peer(1_000)))
  }
}
