internal import ImgdCache
internal import ImgdSystem

/// Pictures on their way to the server.
final class Stores {
  /// What a command has besides the value.
  private static let commandBytes = 4_096

  /// Why a picture is not sent at all.
  private struct Hindrance: Error {
    let outcome: FleetStoring
  }

  private let server: FleetServer
  private let claims: Claims
  private let report: (FleetEvent) -> Void

  init(_ server: FleetServer, _ claims: Claims, report: @escaping (FleetEvent) -> Void) {
    self.server = server
    self.claims = claims
    self.report = report
  }

  /// Ends in one report, be it that the connection does.
  func store(_ store: FleetStore) {
    let claim = claims.take(store.serial)
    do throws(Hindrance) {
      let command = command(store, claim, try value(of: store))
      server.send(command) { [unowned self] reply in hear(reply, store.serial, claim) }
    } catch {
      end(store.serial, claim, error.outcome)
    }
  }

  /// Deletes a picture; where that fails, it stays as long as it would have.
  func remove(_ digest: KeyDigest) {
    guard server.isWritable else { return }
    server.send(FleetScript.remove.command(keys: [server.keys.picture(digest)], [])) {
      [server] reply in
      if case .failure(let text) = reply { server.said(text) }
    }
  }

  private func value(of store: FleetStore) throws(Hindrance) -> [UInt8] {
    guard server.isWritable else {
      throw Hindrance(outcome: .refused(server.state.reason ?? "the server is not connected"))
    }
    // The data that it was fetched for are gone, and with them perhaps a purge that meant it.
    guard store.mark.generation == server.generation else { throw Hindrance(outcome: .overtaken) }
    guard store.payload.count <= server.settings.maxObject else {
      throw Hindrance(outcome: .tooLarge)
    }
    let now = server.now
    let value = FleetValue(
      begunAt: now - store.begunAgo.milliseconds, storedAt: now - store.age.milliseconds,
      mark: store.mark, stamp: .random(in: .min ... .max), record: store.record,
      payload: store.payload)
    guard let bytes = value.bytes else { throw Hindrance(outcome: .tooLarge) }
    guard server.hasRoom(for: bytes.count + Self.commandBytes) else {
      throw Hindrance(outcome: .refused("too much else waits to be sent to the server"))
    }
    return bytes
  }

  private func command(_ store: FleetStore, _ claim: Claim?, _ value: [UInt8]) -> RedisCommand {
    let keys = server.keys
    let digest = store.record.digest
    let lifetime = String(max(store.lifetime.milliseconds, 1))
    var command =
      if let claim {
        FleetScript.store.command(
          keys: [claim.key(in: keys), keys.picture(claim.digest), keys.wake(claim.digest)],
          [claim.token, lifetime])
      } else {
        FleetScript.storeUnclaimed.command(
          keys: [keys.picture(digest), keys.wake(digest)],
          [String(max(server.now - store.begunAgo.milliseconds, 0)), lifetime])
      }
    command.add(value)
    return command
  }

  private func hear(_ reply: RedisReply, _ serial: UInt64, _ claim: Claim?) {
    switch reply {
    case .number(1): report(.stored(serial: serial, .kept))
    case .number: report(.stored(serial: serial, .overtaken))
    case .failure(let text):
      end(serial, claim, .refused(text))
      server.said(text)
    default: report(.stored(serial: serial, .refused("the connection has ended")))
    }
  }

  /// Those who wait for the picture are not to wait longer.
  private func end(_ serial: UInt64, _ claim: Claim?, _ outcome: FleetStoring) {
    if let claim { claims.giveBack(claim) }
    report(.stored(serial: serial, outcome))
  }
}
