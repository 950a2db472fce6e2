internal import ImgdCache
internal import ImgdSystem

/// Puts the purges of this host into the log.
final class PurgeSender {
  /// Further purges are refused until some of these have been answered.
  private static let mostUnderWay = 1_024

  private let server: FleetServer
  private let pictures: PictureServers
  private var underWay = 0

  init(_ server: FleetServer, _ pictures: PictureServers) {
    self.server = server
    self.pictures = pictures
  }

  /// Always ends in exactly one report, even if the connection breaks.
  func send(_ purge: FleetPurge) {
    precondition(purge.filter.unusedFor == nil && !purge.filter.expired, "the uses of pictures are a host's own")
    guard server.isWritable else {
      return unsent(purge, server.state.reason ?? "the fleet's server is not connected yet")
    }
    guard underWay < Self.mostUnderWay else {
      return unsent(purge, "\(Self.mostUnderWay) other purges are on their way")
    }
    underWay += 1
    server.link.send(command(for: purge)) { [unowned self] reply in
      underWay -= 1
      hear(reply, to: purge)
    }
  }

  private func command(for purge: FleetPurge) -> RedisCommand {
    let now = server.now
    let ago = min(max(WallClock.seconds - purge.askedAt, 0), 1 << 32)
    let entry = PurgeEntry(purge, askedAt: max(now - ago * 1000, 0), host: server.host)
    var keys = [server.keys.generation, server.keys.purges]
    if pictures.areWithLog, let digest = Self.picture(meantBy: purge) {
      keys += [server.keys.picture(digest), server.keys.refresh(digest)]
    }
    return FleetScript.purge.command(keys: keys, [String(server.generation)] + entry.fields)
  }

  /// The plain picture of a URL: deleting it spares others from finding out that it was purged, and ends a fetch under
  /// way. Hosts that look for another form of it detect the purge themselves.
  private static func picture(meantBy purge: FleetPurge) -> KeyDigest? {
    guard !purge.isSoft, let url = purge.filter.url?.text else { return nil }
    var others = purge.filter
    others.url = nil
    return others.matchesAll ? KeyDigest(url: url, identifier: nil) : nil
  }

  private func hear(_ reply: RedisReply, to purge: FleetPurge) {
    switch reply {
    case .number(1):
      server.report(.sent(nonce: purge.nonce))
      if !pictures.areWithLog, let digest = Self.picture(meantBy: purge) { pictures.unlink(meantByPurge: digest) }
    case .failure(let text):
      unsent(purge, "the fleet's server has refused it: \(text)")
      server.link.said(text)
    case .lost: unsent(purge, "the connection to the fleet's server has ended")
    default: unsent(purge, "the fleet's server was emptied")
    }
  }

  private func unsent(_ purge: FleetPurge, _ reason: String) {
    server.report(.unsent(nonce: purge.nonce, reason: reason))
  }
}

/// A purge as an entry of the log has it: names and values, in pairs. An entry that is only partly understood might
/// mean more than the part that is: it is not carried out but counts as a purge that was missed.
struct PurgeEntry: Equatable {
  /// Longer entries are not written: hosts read a hundred at a time.
  static let mostBytes = 64 * 1024
  private static let version = "1"
  private static let longestAge: Duration = .seconds(1 << 32)

  let purge: FleetPurge
  /// When it was asked for, in milliseconds by the server's clock.
  let askedAt: Int64
  /// The host that has sent it, for people to read.
  let host: String

  // MARK: Writing

  var fields: [String] {
    let filter = purge.filter
    var fields = [
      "v", Self.version, "nonce", String(purge.nonce), "by", host, "at", String(askedAt), "soft",
      purge.isSoft ? "1" : "0",
    ]
    let named = [
      ("url", filter.url?.text), ("identifier", filter.identifier), ("prefix", filter.prefix), ("host", filter.host),
      ("tag", filter.tag), ("older", filter.olderThan.map { String($0.milliseconds) }),
    ]
    for (name, value) in named { if let value { fields += [name, value] } }
    return fields
  }

  // MARK: Reading

  /// Reads an entry's fields; nil when there is anything else among them. `now` is the time of both clocks.
  init?(_ fields: [RedisReply], serverNow: Int64, wallNow: Int64) {
    var filter = PurgeFilter()
    var heads: [String: String] = [:]
    guard fields.count % 2 == 0 else { return nil }
    for index in stride(from: 0, to: fields.count, by: 2) {
      guard let name = Self.text(fields[index]), let value = Self.text(fields[index + 1]) else { return nil }
      let isNew = heads.updateValue(value, forKey: name) == nil
      guard isNew, Self.takeCondition(value, as: name, in: &filter) else { return nil }
    }
    guard heads["v"] == Self.version, let nonce = heads["nonce"].flatMap({ UInt64($0) }),
      let at = heads["at"].flatMap({ Int64($0) }), ServerClock.times ~= at, let soft = heads["soft"],
      ["0", "1"].contains(soft), let host = heads["by"]
    else { return nil }
    askedAt = at
    self.host = host
    let age = max(serverNow - at, 0) / 1000
    purge = FleetPurge(filter, isSoft: soft == "1", askedAt: wallNow - age, nonce: nonce)
  }

  init(_ purge: FleetPurge, askedAt: Int64, host: String) {
    self.purge = purge
    self.askedAt = askedAt
    self.host = host
  }

  /// Takes a condition; true also for a known field that is not a condition, false if it cannot be understood.
  private static func takeCondition(_ value: String, as name: String, in filter: inout PurgeFilter) -> Bool {
    switch name {
    case "v", "nonce", "by", "at", "soft": break
    case "url":
      guard CanonicalURL.isCanonical(value) || isInOneForm(value) else { return false }
      filter.url = try? CanonicalURL.parse(value)
    case "identifier": filter.identifier = value
    case "prefix": filter.prefix = value
    case "host": filter.host = value
    case "tag": filter.tag = value
    case "older":
      guard let age = Int64(value), 0...longestAge.milliseconds ~= age else { return false }
      filter.olderThan = .milliseconds(age)
    default: return false
    }
    return true
  }

  private static func isInOneForm(_ url: String) -> Bool {
    guard let parsed = try? CanonicalURL.parse(url) else { return false }
    return parsed.text.utf8.elementsEqual(url.utf8)
  }

  private static func text(_ reply: RedisReply) -> String? {
    guard let bytes = reply.bytes, bytes.count <= mostBytes else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
