// Root may read everything, but the service may not: it runs as a user of its own. So a check by root becomes
// that user, once everything else has been looked at, and asks the kernel what may be read: the kernel considers
// groups, access control lists, and the directories on the way.

import Glibc
import ImgdSystem

/// The user that the service manager runs a program as.
package struct ServiceUser: Sendable, Equatable {
  let name: String
  let uid: UInt32
  let gid: UInt32
  /// The groups besides its own.
  let groups: [UInt32]

  /// The user of a unit, or the one that the installation makes if no manager knows the unit; nil for no user and
  /// root.
  package init?(of unit: String, orNamed usual: String) {
    guard let facts = Self.facts(of: unit) else {
      self.init(named: usual, group: nil, supplementary: [])
      return
    }
    guard let user = facts["User"], !user.isEmpty else { return nil }
    let groups = (facts["SupplementaryGroups"] ?? "").split(separator: " ").map(String.init)
    self.init(named: user, group: facts["Group"], supplementary: groups)
  }

  init?(named name: String, group: String?, supplementary: [String]) {
    // The entry belongs to the C library until the next call of this thread, and is copied at once.
    guard let entry = unsafe getpwnam(name), unsafe entry.pointee.pw_uid != 0 else { return nil }
    self.name = name
    uid = unsafe entry.pointee.pw_uid
    let own = unsafe entry.pointee.pw_gid
    gid = group.flatMap { $0.isEmpty ? nil : UserDatabase.number(ofGroup: $0) } ?? own
    groups = UserDatabase.groups(of: name, gid) + supplementary.compactMap { UserDatabase.number(ofGroup: $0) }
  }

  /// What systemd says about an installed unit; nil if it does not know the unit, or does not run.
  private static func facts(of unit: String) -> [String: String]? {
    guard unsafe access("/run/systemd/system", F_OK) == 0 else { return nil }
    let properties = "LoadState,User,Group,SupplementaryGroups"
    let line = "systemctl show --property=\(properties) \(unit) 2>/dev/null"
    guard let stream = unsafe popen(line, "r") else { return nil }
    var text = ""
    var buffer = [CChar](repeating: 0, count: 4096)
    // Each call writes at most the size of the buffer, and ends what it writes with a zero.
    while unsafe fgets(&buffer, CInt(buffer.count), stream) != nil {
      text += String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
    guard unsafe pclose(stream) == 0 else { return nil }
    var facts: [String: String] = [:]
    for line in text.split(separator: "\n") {
      guard let equals = line.firstIndex(of: "=") else { continue }
      facts[String(line[..<equals])] = String(line[line.index(after: equals)...])
    }
    return facts["LoadState"] == "loaded" ? facts : nil
  }

  private static func name(ofGroup gid: UInt32) -> String {
    unsafe getgrgid(gid).flatMap { unsafe $0.pointee.gr_name }.map { unsafe String(cString: $0) } ?? "\(gid)"
  }

  /// Makes this process the user's, for good; returns false if root may not do that.
  private func become() -> Bool {
    unsafe setgroups(groups.count, groups) == 0 && setgid(gid) == 0 && setuid(uid) == 0
  }

  /// The files that exist but are closed to the user, each with the remedy. Only for the end of a process: it is the
  /// user's from here on.
  package func complaints(about files: [ServiceFile]) -> [String] {
    guard become() else { return [] }
    return files.compactMap(complaint)
  }

  private func complaint(about file: ServiceFile) -> String? {
    let status = try? FileStatus.of(path: file.path)
    let isDirectory = status?.kind == .directory
    if file.isSocket { return status.flatMap { complaint(about: file.path, of: $0.group) } }
    guard !Self.isOpen(file.path, isDirectory ? R_OK | X_OK : R_OK) else { return nil }
    let sentence = "\(file.name) cannot be read by the user \(name), as whom the service runs: "
    if let closed = Self.directories(above: file.path).first(where: { !Self.isOpen($0, X_OK) }) {
      return sentence + "its directory is closed, chmod o+x \(closed)"
    }
    // In its group are those who may use its socket.
    if file.isSecret { return sentence + "chown \(name) \(file.path), and chmod 400 \(file.path)" }
    return sentence + "chmod \(isDirectory ? "o+rx" : "o+r") \(file.path)"
  }

  private func complaint(about socket: String, of group: UInt32) -> String? {
    guard !Self.isOpen(socket, W_OK) else { return nil }
    let members = Self.name(ofGroup: group)
    return "\(socket) is closed to the user \(name), as whom the service runs: adduser \(name) \(members), or "
      + "SupplementaryGroups=\(members) in its unit"
  }

  /// Whether the user has a right; also true if there is no such file, which is another mistake or none.
  private static func isOpen(_ path: String, _ right: CInt) -> Bool {
    unsafe access(path, right) == 0 || ![EACCES, EPERM].contains(errno)
  }

  /// The directories on the way to a file, the highest first.
  private static func directories(above path: String) -> [String] {
    path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: "/") && $0 != path.startIndex }.map { String(path[..<$0]) }
  }
}

/// A file that a service has to read.
package struct ServiceFile: Sendable {
  let path: String
  /// Whether others must not read it.
  let isSecret: Bool
  /// Whether the service connects to it.
  let isSocket: Bool
  /// The key of the configuration that names it, if there may be several.
  let key: String?

  package init(_ path: String, isSecret: Bool = false, of key: String? = nil) {
    self.path = path
    self.isSecret = isSecret
    self.key = key
    isSocket = false
  }

  package init(socket path: String) {
    self.path = path
    isSecret = false
    key = nil
    isSocket = true
  }

  fileprivate var name: String { (key.map { "\($0)=" } ?? "") + path }
}
