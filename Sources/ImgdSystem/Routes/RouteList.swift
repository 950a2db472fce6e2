// Netlink messages are structures of C in this machine's byte order, each with its length; a route has attributes, and
// one of these may be a list of next hops.

internal import Glibc

/// A part of the kernel's list of routes, as it is read from a netlink socket.
struct RouteList {
  enum Verdict: Equatable {
    /// One of the routes leads out of this machine.
    case leadsOut
    /// None of these does, and there are more parts.
    case goesOn
    /// None does, and these were the last ones.
    case ended
    case failed(errno: CInt)
  }

  private static let error: UInt16 = 2
  private static let done: UInt16 = 3
  private static let newRoute: UInt16 = 24
  private static let headerLength = 16

  private let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  var verdict: Verdict {
    var rest = bytes
    while rest.count >= Self.headerLength {
      let length = Int(rest.number(at: 0, as: UInt32.self))
      guard length >= Self.headerLength, length <= rest.count else { return .failed(errno: EBADMSG) }
      let content = rest.dropFirst(Self.headerLength).prefix(length - Self.headerLength)
      switch rest.number(at: 4, as: UInt16.self) {
      case Self.newRoute: if Route(content)?.leadsOut == true { return .leadsOut }
      case Self.done: return .ended
      case Self.error: return .failed(errno: content.count < 4 ? EBADMSG : -content.number(at: 0, as: Int32.self))
      default: break
      }
      rest = rest.dropFirst(length.roundedUpToWords)
    }
    return rest.isEmpty ? .goesOn : .failed(errno: EBADMSG)
  }
}

/// One route, as far as it matters whether it leads out of this machine.
private struct Route {
  private static let headerLength = 12
  private static let unicast: UInt8 = 1
  private static let local: UInt8 = 255
  private static let cloned: UInt32 = 0x200
  private static let destination: UInt16 = 1
  private static let device: UInt16 = 4
  private static let nextHops: UInt16 = 9
  private static let nextHopObject: UInt16 = 30

  let leadsOut: Bool

  /// Nil for a message that is no route.
  init?(_ message: ArraySlice<UInt8>) {
    guard message.count >= Self.headerLength else { return nil }
    let (family, length) = (message.number(at: 0, as: UInt8.self), Int(message.number(at: 1, as: UInt8.self)))
    let (table, type) = (message.number(at: 4, as: UInt8.self), message.number(at: 7, as: UInt8.self))
    let flags = message.number(at: 8, as: UInt32.self)
    guard type == Self.unicast, table != Self.local, flags & Self.cloned == 0,
      family == AF_INET || family == AF_INET6
    else {
      leadsOut = false
      return
    }
    var hops: [NextHop] = []
    var (isNear, namesObject) = (false, false)
    for (kind, value) in Attributes(rest: message.dropFirst(Self.headerLength)) {
      switch kind {
      case Self.destination: isNear = Self.isNear(value, length: length)
      case Self.device where value.count >= 4:
        hops.append(NextHop(device: value.number(at: 0, as: Int32.self), flags: flags))
      case Self.nextHops: hops += NextHop.list(value)
      case Self.nextHopObject: namesObject = true
      default: break
      }
    }
    // `net.ipv4.nexthop_compat_mode=0` has routes name objects without their devices: these are taken to be alive.
    leadsOut = !isNear && (hops.contains(where: \.leadsOut) || hops.isEmpty && namesObject)
  }

  /// Whether an address with so many bits that count is of this machine or of a link: 127/8, 169.254/16, ::1, fe80::/10.
  private static func isNear(_ address: ArraySlice<UInt8>, length: Int) -> Bool {
    let bytes = Array(address)
    if bytes.count == 4 { return length >= 8 && bytes[0] == 127 || length >= 16 && bytes[..<2] == [169, 254] }
    guard bytes.count == 16 else { return false }
    let isLoopback = length == 128 && bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
    return isLoopback || length >= 10 && bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
  }
}

private struct NextHop {
  private static let loopback: Int32 = 1
  /// The link is down, or has no carrier.
  private static let dead: UInt32 = 1 | 16

  let device: Int32
  let flags: UInt32

  var leadsOut: Bool { device != Self.loopback && flags & Self.dead == 0 }

  static func list(_ bytes: ArraySlice<UInt8>) -> [NextHop] {
    var hops: [NextHop] = []
    var rest = bytes
    while rest.count >= 8 {
      let length = Int(rest.number(at: 0, as: UInt16.self))
      guard length >= 8 else { break }
      hops.append(
        NextHop(device: rest.number(at: 4, as: Int32.self), flags: UInt32(rest.number(at: 2, as: UInt8.self))))
      rest = rest.dropFirst(length.roundedUpToWords)
    }
    return hops
  }
}

/// The attributes of a message: their kinds and values. One that is cut short ends them.
private struct Attributes: Sequence, IteratorProtocol {
  /// The bits that tell the kind; two more tell how the value is written.
  private static let kinds: UInt16 = 0x3fff

  var rest: ArraySlice<UInt8>

  mutating func next() -> (kind: UInt16, value: ArraySlice<UInt8>)? {
    guard rest.count >= 4 else { return nil }
    let length = Int(rest.number(at: 0, as: UInt16.self))
    guard length >= 4, length <= rest.count else { return nil }
    defer { rest = rest.dropFirst(length.roundedUpToWords) }
    return (rest.number(at: 2, as: UInt16.self) & Self.kinds, rest.dropFirst(4).prefix(length - 4))
  }
}

extension Int {
  /// Messages, attributes and hops begin at multiples of four bytes.
  fileprivate var roundedUpToWords: Int { (self + 3) & ~3 }
}

extension ArraySlice<UInt8> {
  /// A number in this machine's byte order, of which all bytes have to be there.
  fileprivate func number<Number: FixedWidthInteger>(at offset: Int, as: Number.Type) -> Number {
    var number: Number = 0
    for index in 0..<(Number.bitWidth / 8) {
      number |= Number(truncatingIfNeeded: self[startIndex + offset + index]) << (8 * index)
    }
    return Number(littleEndian: number)
  }
}
