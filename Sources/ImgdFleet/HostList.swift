// The list of the fleet's hosts in the server: each writes a line about itself there, and reads those of all when
// somebody asks.
//
// Nothing depends on it. A user without the rights to it is used as before, and the host is only not shown.

internal import ImgdCache
internal import ImgdSystem

/// This host's line in the list, and questions for all lines.
package final class HostList {
  /// All hosts that have written about themselves within an hour.
  package struct Report: Sendable {
    /// The name of this one.
    package let own: String
    /// The newest purge in the log; 0 for none.
    package let last: UInt64
    package let hosts: [ListedHost]
  }

  /// Why there is no list, in words, with what would be right.
  package struct Problem: Error, Sendable, Equatable {
    package let reason: String

    package init(reason: String) { self.reason = reason }
  }

  private static let mostHosts = 1_024
  /// Hosts that have written nothing for so long are forgotten.
  private static let longestSilence: Duration = .seconds(3_600)

  private let server: FleetServer
  /// Why it has no line of this host, as it was reported.
  private var refusal: String?
  private var isListed = false

  init(_ server: FleetServer) { self.server = server }

  /// Writes this host's line. The first time, the lines of hosts that have gone are cleared away: not everybody looks
  /// at the list, and hosts that are killed again and again leave one each.
  func write(_ line: HostNote) {
    guard server.isWritable else { return }
    if !isListed { server.link.send(reading) { _ in } }
    server.link.send(RedisCommand("HSET", server.keys.hosts, server.host, line.text(at: server.now))) {
      [unowned self] reply in
      switch reply {
      case .failure(let text): report(Self.words(for: text))
      case .lost: break
      default:
        isListed = true
        report(nil)
      }
    }
  }

  /// Takes this host's line out, at its end.
  func remove() {
    if isListed { server.link.send(RedisCommand("HDEL", server.keys.hosts, server.host)) { _ in } }
  }

  private func report(_ refusal: String?) {
    guard refusal != self.refusal else { return }
    self.refusal = refusal
    server.report(.unlisted(reason: refusal))
  }

  // MARK: Reading

  /// Always ends in one report.
  func read() {
    guard server.state.isReadable else {
      return fail(server.state.reason ?? "the fleet's server is not connected yet")
    }
    var lines = RedisReply.lost
    server.link.send(reading) { reply in lines = reply }
    server.link.send(RedisCommand("XREVRANGE", server.keys.purges, "+", "-", "COUNT", "1")) { [unowned self] reply in
      switch lines {
      case .list(let parts):
        let last = reply.list?.first.flatMap { LogEntry($0) }?.number ?? 0
        server.report(.hosts(.success(Report(own: server.host, last: last, hosts: hosts(in: parts)))))
      case .failure(let text): fail(Self.words(for: text))
      default: fail("the connection to the fleet's server has ended")
      }
    }
  }

  private var reading: RedisCommand {
    let (now, silence) = (server.now, Self.longestSilence.milliseconds)
    let limits = [now - silence, now + silence, Int64(Self.mostHosts), Int64(HostNote.mostBytes)]
    return FleetScript.hosts.command(keys: [server.keys.hosts], limits.map { String($0) })
  }

  private func hosts(in parts: [RedisReply]) -> [ListedHost] {
    let now = server.now
    return parts.prefix(Self.mostHosts).compactMap { part in
      guard let bytes = part.bytes, let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let name = String(decoding: bytes[..<colon], as: UTF8.self)
      guard let number = UInt64(name, radix: 16), let (line, at) = HostNote.read(Array(bytes[(colon + 1)...])) else {
        return nil
      }
      return ListedHost(name: name, number: number, age: .milliseconds(max(now - at, 0)), line: line)
    }
  }

  private func fail(_ reason: String) { server.report(.hosts(.failure(Problem(reason: reason)))) }

  private static func words(for failure: String) -> String {
    // The first for commands, the others for those in scripts: of Valkey, and of Redis 7.0.
    guard ["NOPERM", "ACL failure", "can't run this command"].contains(where: failure.contains) else {
      return "the fleet's server has refused it: \(failure)"
    }
    return "the user may not use the list of hosts (\(failure)): give it +hset +hgetall +hdel, as in fleet/users.acl"
  }
}

/// A host in the list.
package struct ListedHost: Sendable {
  /// Its name among the hosts of the fleet, which is another one after each start.
  package let name: String
  package let number: UInt64
  /// How long ago it has written its line, by the server's clock.
  package let age: Duration
  package let line: HostNote
}
