import Glibc
import Testing

@testable import ImgdSystem

/// Which routes lead out of a machine, in messages as the kernel writes them.
struct RouteListTests {
  private static let lan: [UInt8] = [192, 168, 1, 0]

  private static func word(_ number: UInt32) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
  }

  private static func half(_ number: UInt16) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
  }

  private static func message(_ kind: UInt16, _ content: [UInt8]) -> [UInt8] {
    word(UInt32(16 + content.count)) + half(kind) + half(2) + word(1) + word(0) + content
  }

  private static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
    let bytes = half(UInt16(4 + value.count)) + half(kind) + value
    return bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }

  /// A route to a network; without a length of its own, to the whole of the destination.
  private static func route(
    to destination: [UInt8]? = lan, length: UInt8? = nil, device: UInt32? = 2, type: UInt8 = 1,
    table: UInt8 = 254, flags: UInt32 = 0, family: UInt8? = nil, hops: [UInt8]? = nil,
    object: UInt32? = nil
  ) -> [UInt8] {
    let own = UInt8(destination?.count == 16 ? AF_INET6 : AF_INET)
    let length = length ?? UInt8(8 * (destination?.count ?? 0))
    return message(
      24,
      [family ?? own, length, 0, 0, table, 2, 0, type] + word(flags)
        + (destination.map { attribute(1, $0) } ?? []) + (device.map { attribute(4, word($0)) } ?? [])
        + (hops.map { attribute(9, $0) } ?? []) + (object.map { attribute(30, word($0)) } ?? []))
  }

  private static func hop(device: UInt32, flags: UInt8 = 0) -> [UInt8] {
    half(16) + [flags, 0] + word(device) + attribute(5, [192, 168, 1, 1])
  }

  private static let end = message(3, word(0))

  private func leadsOut(_ route: [UInt8]) -> Bool {
    RouteList((route + Self.end)[...]).verdict == .leadsOut
  }

  private static let loopback6 = [UInt8](repeating: 0, count: 15) + [1]
  private static let link6: [UInt8] = [0xfe, 0x80] + [UInt8](repeating: 0, count: 14)

  @Test(
    "routes that lead out",
    arguments: [
      route(), route(to: nil, length: 0), route(table: 253), route(table: 100),
      route(to: [0x20, 0x01] + [UInt8](repeating: 0, count: 14), length: 32),
      route(to: [0, 0, 0, 0], length: 0, device: 7),
      route(to: [169, 0, 0, 0], length: 8),
      route(to: nil, device: nil, hops: hop(device: 3, flags: 1) + hop(device: 4)),
      route(to: nil, device: nil, object: 7),
    ])
  func leadingOut(route: [UInt8]) { #expect(leadsOut(route)) }

  @Test(
    "routes that do not: to this machine or a link, void ones, over what is down, and none",
    arguments: [
      route(to: [127, 0, 0, 0], length: 8, device: 1), route(to: [127, 0, 0, 1]),
      route(to: [169, 254, 0, 0], length: 16), route(to: link6, length: 64),
      route(to: loopback6), route(device: 1), route(device: nil),
      route(type: 7), route(type: 6), route(type: 2), route(table: 255),
      route(flags: 1), route(flags: 16), route(flags: 0x200),
      route(to: nil, device: nil, hops: hop(device: 3, flags: 16) + hop(device: 1)),
      route(device: nil, hops: hop(device: 3, flags: 1), object: 7), route(flags: 16, object: 7),
      route(family: 28), [],
    ])
  func near(route: [UInt8]) { #expect(!leadsOut(route)) }

  @Test("the first route that leads out decides, wherever it stands")
  func places() {
    let near = Self.route(device: 1)
    #expect(leadsOut(near + near + Self.route()))
    #expect(RouteList((near + near)[...]).verdict == .goesOn)
    #expect(RouteList((near + Self.end)[...]).verdict == .ended)
  }

  @Test("the kernel's refusal is told with its reason")
  func refusal() {
    let refusal = Self.message(2, Self.word(UInt32(bitPattern: -EPERM)) + Self.message(26, []))
    #expect(RouteList(refusal[...]).verdict == .failed(errno: EPERM))
  }

  @Test("cut anywhere, a list crashes nothing, and no route leads out before it is there")
  func cuts() {
    let whole =
      Self.route(device: 1) + Self.route(to: nil, device: nil, hops: Self.hop(device: 1) + Self.hop(device: 4))
    for count in 0..<whole.count {
      #expect(RouteList(whole[..<count]).verdict != .leadsOut)
    }
    #expect(RouteList(whole[...]).verdict == .leadsOut)
  }

  @Test("any byte may be any other")
  func damage() {
    let whole = Self.route(hops: Self.hop(device: 4)) + Self.end
    for place in whole.indices {
      for value in UInt8.min...UInt8.max {
        var damaged = whole
        damaged[place] = value
        _ = RouteList(damaged[...]).verdict
      }
    }
  }
}
