import Glibc
package import ImgdSystem

/// Limits how many requests of each client are under way, and how fast they come.
///
/// The rate is a bucket of tokens for each address, written as one moment: the time at which the bucket will be
/// full again. A request moves that moment on by the time that one token takes, and is refused if it would be
/// further away than a full bucket takes.
///
/// Addresses without a request under way wait to be forgotten, the oldest first. Each is in that queue once: one that
/// has been used since is put at the end instead.
///
/// All threads that serve share one object: how many of them there are changes no limit.
package final class AddressLimits: Sendable {
  private let table: Locked<AddressTable>

  /// Requests that were refused.
  package var refused: Int { table.withLock { $0.refused } }
  /// Addresses that were forgotten, to make room for others.
  package var forgotten: Int { table.withLock { $0.forgotten } }
  /// Addresses that are remembered.
  package var addresses: Int { table.withLock { $0.clients.count } }

  /// A `rate` of zero stands for any number of requests a second.
  package init(maxUnderWay: Int, rate: Int, mostAddresses: Int = 10_000) {
    table = Locked(
      AddressTable(
        maxUnderWay: maxUnderWay, mostAddresses: mostAddresses,
        interval: rate > 0 ? .nanoseconds(max(1, 1_000_000_000 / rate)) : nil))
  }

  /// Counts a request, until its place is given back.
  package func begin(_ key: AddressKey, now: Instant) throws(GatewayError) -> AddressPlace {
    if let refusal = table.withLock({ $0.begin(key, now: now) }) {
      throw GatewayError(429, "too_many_requests", "\(refusal): try again in a moment", isRetryable: true)
    }
    return AddressPlace(of: key, in: self, now: now)
  }

  fileprivate func giveBack(_ key: AddressKey, began: Instant) { table.withLock { $0.giveBack(key, began: began) } }
}

private struct AddressTable {
  /// Seconds of requests that may come at once.
  private static let burst = 2

  struct Client {
    var underWay = 0
    var fullAt: Instant
    var lastUse: Instant
    /// The moment at which it was put into the queue; nil while it is not in the queue.
    var queuedAt: Instant?
  }

  let maxUnderWay: Int
  let mostAddresses: Int
  /// The time that one token takes; nil without a limit.
  let interval: Duration?
  var clients: [AddressKey: Client] = [:]
  private var idle = Fifo<AddressKey>()
  var refused = 0
  var forgotten = 0

  init(maxUnderWay: Int, mostAddresses: Int, interval: Duration?) {
    self.maxUnderWay = maxUnderWay
    self.mostAddresses = mostAddresses
    self.interval = interval
  }

  /// Counts a request; returns why it is refused, or nil.
  mutating func begin(_ key: AddressKey, now: Instant) -> String? {
    if clients[key] == nil, clients.count >= mostAddresses, !forgetOldest() {
      return refusal("there are requests of \(mostAddresses) addresses under way, which is the most")
    }
    var client = clients[key] ?? Client(fullAt: now, lastUse: now)
    guard client.underWay < maxUnderWay else {
      return refusal("there are \(maxUnderWay) requests of your address under way, which is the most (MaxPerAddress=)")
    }
    if let interval {
      let fullAt = max(client.fullAt, now) + interval
      guard fullAt - now <= .seconds(Self.burst) else {
        return refusal("the requests of your address come faster than Rate= allows")
      }
      client.fullAt = fullAt
    }
    client.underWay += 1
    clients[key] = client
    return nil
  }

  mutating func giveBack(_ key: AddressKey, began: Instant) {
    guard var client = clients[key] else { return }
    client.underWay -= 1
    client.lastUse = max(client.lastUse, began)
    if client.underWay == 0, client.queuedAt == nil {
      client.queuedAt = client.lastUse
      idle.append(key)
    }
    clients[key] = client
  }

  /// Forgets the address that has been idle longest; returns whether there was an idle one.
  private mutating func forgetOldest() -> Bool {
    while let key = idle.popFirst() {
      guard var client = clients[key] else { continue }
      if client.underWay == 0, client.queuedAt == client.lastUse {
        clients[key] = nil
        forgotten += 1
        return true
      }
      client.queuedAt = client.underWay == 0 ? client.lastUse : nil
      clients[key] = client
      if client.underWay == 0 { idle.append(key) }
    }
    return false
  }

  private mutating func refusal(_ reason: String) -> String {
    refused += 1
    return reason
  }
}

/// One request of an address that is under way.
package final class AddressPlace {
  private let key: AddressKey
  private let began: Instant
  private var limits: AddressLimits?

  fileprivate init(of key: AddressKey, in limits: AddressLimits, now: Instant) {
    self.key = key
    self.limits = limits
    began = now
  }

  deinit { giveBack() }

  /// Gives the place back; a second time has no effect.
  package func giveBack() { limits.take()?.giveBack(key, began: began) }
}

/// The address by which the requests of one client are counted.
package enum AddressKey: Hashable, Sendable {
  case v4(UInt32)
  /// The upper half of an IPv6 address: a household has the whole lower half.
  case v6(UInt64)
  /// Everything that a proxy forwards and that is not an address.
  case unknown

  /// Reads an address without a port; a wrapped IPv4 address is that address.
  init(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    // `inet_pton` would ignore what follows a zero byte; the bytes have room for either family.
    if text.utf8.contains(0) {
      self = .unknown
    } else if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
      self = .v4(Self.number(bytes[..<4]))
    } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
      self = bytes.starts(with: Self.wrapping) ? .v4(Self.number(bytes[12...])) : .v6(Self.number(bytes[..<8]))
    } else {
      self = .unknown
    }
  }

  /// How `::ffff:192.0.2.1` begins: a socket of both families has IPv4 clients under such addresses.
  private static let wrapping: [UInt8] = Array(repeating: 0, count: 10) + [0xff, 0xff]

  /// The share of the daemon's decoders that this client's requests have.
  package var share: String {
    switch self {
    case .v4(let address):
      [24, 16, 8, 0].map { (shift: UInt32) in "\(address >> shift & 0xff)" }.joined(separator: ".")
    case .v6(let prefix):
      [48, 32, 16, 0].map { (shift: UInt64) in String(prefix >> shift & 0xffff, radix: 16) }.joined(separator: ":")
        + "::/64"
    case .unknown: "unknown"
    }
  }

  private static func number<Number: FixedWidthInteger>(_ bytes: ArraySlice<UInt8>) -> Number {
    bytes.reduce(0) { $0 << 8 | Number($1) }
  }
}

/// The address of a client that is not a program of this machine.
package enum ForwardedAddress {
  /// The address that a trusted proxy has added to `X-Forwarded-For`, or that of a peer on another machine; nil for a
  /// program of this one. Only the last address of the last field is the proxy's: the client wrote those before it.
  package static func client(of fields: [String], peer: HTTPPeer, trusting: [HTTPPeer.Kind]) -> AddressKey? {
    guard trusting.contains(peer.kind), let field = fields.last else {
      guard case .network(let address) = peer else { return nil }
      return address
    }
    let bytes = Array(field.utf8)
    let start = bytes.lastIndex(of: UInt8(ascii: ",")).map { $0 + 1 } ?? 0
    return AddressKey(String(decoding: bytes[start...].trimmed(of: " \t"), as: UTF8.self))
  }
}
