internal import ImgdCache
internal import ImgdSystem

/// Puts the purges of this host into the log.
final class PurgeSender {
  /// Further purges are refused until some of these have been answered.
  private static let mostUnderWay = 1_024

  private let server: FleetServer
  private let report: (FleetEvent) -> Void
  private var underWay = 0

  init(_ server: FleetServer, report: @escaping (FleetEvent) -> Void) {
    self.server = server
    self.report = report
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
    server.send(command(for: purge)) { [unowned self] reply in
      underWay -= 1
      hear(reply, to: purge)
    }
  }

  private func command(for purge: FleetPurge) -> RedisCommand {
    let now = server.now
    let ago = min(max(WallClock.seconds - purge.askedAt, 0), 1 << 32)
    let entry = PurgeEntry(purge, askedAt: max(now - ago * 1000, 0), host: server.host)
    let keys = [server.keys.generation, server.keys.purges] + meant(by: purge)
    return FleetScript.purge.command(keys: keys, [String(server.generation)] + entry.fields)
  }

  /// The keys of the plain picture of a URL: deleting them spares others from finding out that it was purged,
  /// and ends a fetch under way. Hosts that look for another form of it detect the purge themselves.
  private func meant(by purge: FleetPurge) -> [String] {
    guard !purge.isSoft, let url = purge.filter.url?.text else { return [] }
    var others = purge.filter
    others.url = nil
    guard others.matchesAll else { return [] }
    let digest = KeyDigest(url: url, identifier: nil)
    return [server.keys.picture(digest), server.keys.refresh(digest)]
  }

  private func hear(_ reply: RedisReply, to purge: FleetPurge) {
    switch reply {
    case .number(1): report(.sent(nonce: purge.nonce))
    case .failure(let text):
      unsent(purge, "the fleet's server has refused it: \(text)")
      server.said(text)
    case .lost: unsent(purge, "the connection to the fleet's server has ended")
    default: unsent(purge, "the fleet's server was emptied")
    }
  }

  private func unsent(_ purge: FleetPurge, _ reason: String) { report(.unsent(nonce: purge.nonce, reason: reason)) }
}
