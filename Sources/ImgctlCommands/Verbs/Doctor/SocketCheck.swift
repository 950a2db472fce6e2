import Glibc
import ImgdConnection
import ImgdSystem

/// Whether the socket is there, and whether this user may connect to it.
struct SocketCheck {
  let place: SocketPlace

  var findings: [Finding] {
    guard let owner = SocketOwner(path: place.path) else { return [missing] }
    let found = Finding.ok("socket", "\(place.path), \(place.reason)")
    return [found, shadow, permission(owner)].compactMap { $0 }
  }

  private var missing: Finding {
    if errno == EACCES {
      return .problem(
        "socket", "\(place.path), \(place.reason), is in a directory that is closed to this user",
        remedy: "use a socket of your own (--socket), or open the directory")
    }
    return .problem("socket", "there is no \(place.path), \(place.reason)", remedy: "start imgd: \(place.startCommand)")
  }

  /// A user's own daemon hides the machine's from imgctl.
  private var shadow: Finding? {
    guard place.choice == .ownDaemon, SocketSearch.isThere(ControlSocketPlace.system) else { return nil }
    return .note(
      "socket", "there is the machine's daemon, too, with a cache of its own",
      remedy: "to use that one: imgctl --socket \(ControlSocketPlace.system)")
  }

  private func permission(_ owner: SocketOwner) -> Finding {
    let rights = "owner \(owner.user), group \(owner.group), mode \(String(owner.permissions, radix: 8))"
    // The path is a C string for the length of the call.
    if unsafe faccessat(AT_FDCWD, place.path, W_OK, AT_EACCESS) == 0 {
      return .ok("permission", "you may connect (\(rights))")
    }
    let user = SocketOwner.userName(geteuid())
    if Self.isListed(inGroup: owner.gid) {
      return .problem(
        "permission", "\(user) is in the group \(owner.group), and was not at the login (\(rights))",
        remedy: "log in again, or write: newgrp \(owner.group); Control.Allow in imgd.conf lets users in without that")
    }
    let isForGroup = owner.permissions & 0o020 != 0 && owner.group != "root"
    return .problem(
      "permission", "\(user) may not connect (\(rights))",
      remedy: isForGroup
        ? "sudo adduser \(user) \(owner.group), and log in again"
        : "only the user \(owner.user) may use this daemon, and those whom Control.Allow in its imgd.conf names")
  }

  /// Whether the system lists this user in a group; the process may have been started before it did.
  private static func isListed(inGroup gid: UInt32) -> Bool {
    // The result belongs to the C library until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwuid(geteuid()), let name = unsafe entry.pointee.pw_name else { return false }
    let user = unsafe String(cString: name)
    let own = unsafe entry.pointee.pw_gid
    var count: CInt = 0
    // The first call fails and tells how many there are; the lists may change before the second.
    _ = unsafe getgrouplist(user, own, nil, &count)
    guard count > 0 else { return false }
    var groups = [gid_t](repeating: 0, count: Int(count))
    let found = unsafe getgrouplist(user, own, &groups, &count)
    return found > 0 && groups.prefix(Int(found)).contains(gid)
  }
}

/// The socket that imgctl uses, and why this one.
struct SocketPlace {
  /// The possible reasons for the choice, the strongest first.
  enum Choice { case option, variable, ownDaemon, machine }

  let path: String
  let choice: Choice
  /// Whether it is the socket of the unit of this user's daemon.
  let isOwn: Bool
  /// Whether it is the socket of the machine's unit.
  let isMachines: Bool
  /// Whether systemd manages this machine's services.
  let hasManager: Bool

  init(_ context: Context, hasManager: Bool = SocketSearch.isThere("/run/systemd/system")) {
    path = context.socket
    self.hasManager = hasManager
    let own = ControlSocketPlace.user(environment: context.environment, uid: geteuid())
    isOwn = path == own
    isMachines = path == ControlSocketPlace.system
    let isSet = !(context.environment["IMGD_SOCKET"] ?? "").isEmpty
    choice = context.manner.socket != nil ? .option : isSet ? .variable : isOwn ? .ownDaemon : .machine
  }

  var reason: String {
    switch choice {
    case .option: "named by --socket"
    case .variable: "named by $IMGD_SOCKET"
    case .ownDaemon: "of your own daemon"
    case .machine: "of the machine's daemon"
    }
  }

  /// The command that starts a daemon for this socket.
  var startCommand: String {
    if isMachines { return hasManager ? "sudo systemctl enable --now imgd.socket" : "imgd, as root" }
    if isOwn { return hasManager ? "systemctl --user enable --now imgd.socket" : "imgd" }
    return "imgd --socket \(path)"
  }

  /// The command that shows the log, in brackets, where the daemon is a unit.
  var logCommand: String {
    guard hasManager else { return "" }
    return isMachines ? " (journalctl -u imgd)" : isOwn ? " (journalctl --user -u imgd)" : ""
  }

  /// The command that restarts the daemon, after a colon, where it is a unit.
  var restartCommand: String {
    guard hasManager else { return "" }
    return isMachines ? ": sudo systemctl restart imgd" : isOwn ? ": systemctl --user restart imgd" : ""
  }
}
