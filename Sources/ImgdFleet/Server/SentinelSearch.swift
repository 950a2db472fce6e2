internal import ImgdSystem

/// Asks the Sentinels, one after the other, where the master is: one that is dead costs half a second, and the one
/// that has answered is asked first the next time.
final class SentinelSearch {
  private static let patience: Duration = .milliseconds(500)
  private static let mostReplyBytes = 64 * 1024
  private static let longestHost = 253

  private final class Sentinel {
    let endpoint: FleetSettings.Endpoint
    let name: SlowQuestion

    init(_ endpoint: FleetSettings.Endpoint, on loop: EventLoop) {
      self.endpoint = endpoint
      name = SlowQuestion(on: loop)
    }
  }

  private let master: String
  private unowned let loop: EventLoop
  private let connect: Connect
  /// In the order in which they are asked.
  private var sentinels: [Sentinel]
  /// Which of them is asked now, and why those before it were of no use.
  private var place = 0
  private var troubles: [FleetTrouble] = []
  private var login: RedisCommand?
  /// The master that was named last.
  private var found: FleetSettings.Endpoint?
  private var connection: (any ServerConnection)?
  private var timer: Timer?
  private var then: ((Result<FleetSettings.Endpoint, FleetTrouble>) -> Void)?

  init(_ endpoints: [FleetSettings.Endpoint], master: String, on loop: EventLoop, connect: @escaping Connect) {
    self.master = master
    self.loop = loop
    self.connect = connect
    sentinels = endpoints.map { Sentinel($0, on: loop) }
  }

  /// How long it takes if none of them answers.
  var patience: Duration { Self.patience * sentinels.count }

  /// Begins anew; `then` is called once, unless it is given up. The login is for Sentinels that ask for one.
  func find(login: RedisCommand?, then: @escaping (Result<FleetSettings.Endpoint, FleetTrouble>) -> Void) {
    giveUp()
    (place, troubles) = (0, [])
    self.login = login
    self.then = then
    askNext()
  }

  /// Asks once more; `then` is called if another master than before is named.
  func findAgain(then: @escaping () -> Void) {
    let before = found
    find(login: login) { answer in if case .success(let master) = answer, master != before { then() } }
  }

  func giveUp() {
    leave()
    then = nil
  }

  // MARK: One of them

  private func askNext() {
    guard place < sentinels.count else { return answer(.failure(trouble)) }
    let sentinel = sentinels[place]
    timer = loop.schedule(after: Self.patience) { [unowned self] in
      pass(FleetTrouble(.down, "no answer within half a second"))
    }
    let endpoint = sentinel.endpoint
    sentinel.name.ask(isQuick: ServerPlace.isAddress(endpoint.host)) {
      Result { () throws(FleetTrouble) in try ServerPlace.find(endpoint) }
    } then: { [unowned self] found in
      do throws(FleetTrouble) { try ask(at: found.get()) } catch { pass(error) }
    }
  }

  private func ask(at place: ServerPlace) throws(FleetTrouble) {
    let connection = try connect(place, loop, RedisConnection.Limits(reply: Self.mostReplyBytes))
    connection.onEnd = { [unowned self] trouble in pass(trouble) }
    self.connection = connection
    askForMaster(isLoggedIn: false)
  }

  private func askForMaster(isLoggedIn: Bool) {
    send(RedisCommand("SENTINEL", "get-master-addr-by-name", master)) { [unowned self] reply throws(FleetTrouble) in
      if case .failure(let text) = reply, text.hasPrefix("NOAUTH"), !isLoggedIn, let login {
        send(login) { reply throws(FleetTrouble) in _ = try reply.accepted() }
        return askForMaster(isLoggedIn: true)
      }
      guard try reply.accepted() != .nothing else {
        throw FleetTrouble(.refused, "it knows no master of the name “\(master)”")
      }
      guard let master = Self.endpoint(reply) else { throw FleetTrouble(.refused, "its answer is no address") }
      // The next search begins with it.
      sentinels.insert(sentinels.remove(at: place), at: 0)
      found = master
      answer(.success(master))
    }
  }

  private static func endpoint(_ reply: RedisReply) -> FleetSettings.Endpoint? {
    guard let parts = reply.list, parts.count == 2, let host = parts[0].text,
      (1...longestHost).contains(host.utf8.count), host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      let port = parts[1].text.flatMap({ Int($0) }), 1...65_535 ~= port
    else { return nil }
    return FleetSettings.Endpoint(host: host, port: port)
  }

  private func send(_ command: RedisCommand, _ accept: @escaping (RedisReply) throws(FleetTrouble) -> Void) {
    connection?.send(command) { [unowned self, weak connection] reply in
      // The end of the connection is reported separately, with its reason.
      guard let connection, connection === self.connection, connection.isOpen else { return }
      do throws(FleetTrouble) { try accept(reply) } catch { pass(error) }
    }
  }

  /// Goes on to the next one.
  private func pass(_ trouble: FleetTrouble) {
    let endpoint = sentinels[place].endpoint
    troubles.append(FleetTrouble(trouble.phase, "the Sentinel \(endpoint): \(trouble.reason)"))
    leave()
    place += 1
    askNext()
  }

  private func leave() {
    timer?.cancel()
    if place < sentinels.count { sentinels[place].name.giveUp() }
    let connection = self.connection.take()
    connection?.close()
  }

  // MARK: The end

  /// What no Sentinel has helped with. One that could be asked, and refused, says more than those that are away.
  private var trouble: FleetTrouble {
    let refusals = troubles.filter { $0.phase == .refused }
    let worst = refusals.isEmpty ? troubles : refusals
    return FleetTrouble(worst.first?.phase ?? .down, worst.map(\.reason).joined(separator: "; "))
  }

  private func answer(_ outcome: Result<FleetSettings.Endpoint, FleetTrouble>) {
    leave()
    then.take()?(outcome)
  }
}
