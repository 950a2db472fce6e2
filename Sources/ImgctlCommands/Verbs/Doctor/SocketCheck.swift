import Glibc
import ImgdConnection
import ImgdSystem

/// Whether the socket is there, and whether this user may connect to it.
struct SocketCheck {
  private let place: SocketPlace

  init(_ place: SocketPlace) { self.place = place }

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
    let bits = String(owner.permissions, radix: 8)
    let rights = "owner \(owner.user), group \(owner.group), mode \(bits)"
    // The path is a C string for the length of the call.
    if unsafe faccessat(AT_FDCWD, place.path, W_OK, AT_EACCESS) == 0 {
      return .ok("permission", "you may connect (\(rights))")
    }
    let user = SocketOwner.userName(geteuid())
    if ProcessUser.isListed(inGroup: owner.gid) {
      return .problem(
        "permission", "\(user) is in the group \(owner.group), and was not at the login (\(rights))",
        remedy: "log in again, or write: newgrp \(owner.group)")
    }
    guard owner.permissions & 0o020 != 0, owner.group != "root" else {
      return .problem(
        "permission", "\(user) may not connect (\(rights))", remedy: "only the user \(owner.user) may use this daemon")
    }
    return .problem(
      "permission", "\(user) may not connect (\(rights))",
      remedy: "sudo adduser \(user) \(owner.group), and log in again")
  }
}
