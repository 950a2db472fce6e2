@testable import ImgdTransfer

extension FuzzTarget {
  /// Addresses and networks, in text: an address has one spelling, and a rule judges it in every spelling alike.
  static let addresses = FuzzTarget("addresses", of: ["ImgdTransfer/Network/AddressRule.swift"], longest: 96) { bytes in
    var choices = Choices(bytes)
    let mode = choices.pick([AddressRule.Mode.direct, .deny, .allow])
    let text = String(decoding: choices.line(), as: UTF8.self)
    let network = String(decoding: choices.line(), as: UTF8.self)
    let range = AddressRange(network)
    for address in [IPAddress(text), anyAddress(choices)].compactMap({ $0 }) {
      expect(IPAddress(address.description) == address, "an address survives being written and read")
      expect(IPAddress("[\(address.description)]") == address, "in brackets, too")
      expect([address.isNever, address.isPrivate, address.isPublic].contains(true), "it is of some kind")
      expect(!(address.isPublic && (address.isNever || address.isPrivate)), "a public one is of no other kind")
      expect(AddressRange(address.description)?.contains(address) == true, "it is a network of one")
      let rule = AddressRule(mode: mode, deny: range.map { [$0] } ?? [])
      let isDenied = range.map { $0.contains(address) || $0.contains(address.unwrapped) } ?? false
      let isPermitted = !address.isNever && !isDenied && (!address.isPrivate || mode == .allow)
      expect(rule.permits(address, afterPublic: true) == isPermitted, "behind a public host none is private")
      if rule.permits(address, afterPublic: true) {
        expect(rule.permits(address, afterPublic: false), "and at first it may be more, not less")
      }
      guard case .v4(let number) = address.unwrapped else { continue }
      let open = AddressRule(mode: mode)
      let isOpen = open.permits(.v4(number), afterPublic: true)
      let (mapped, tunnelled) = (
        IPAddress.v6(high: 0, low: 0xFFFF << 32 | UInt64(number)),
        IPAddress.v6(high: 0x2002 << 48 | UInt64(number) << 16, low: 0)
      )
      expect(open.permits(mapped, afterPublic: true) == isOpen, "it is judged as itself where it is wrapped")
      expect(open.permits(tunnelled, afterPublic: true) == isOpen, "however that is done")
    }
  }

  private static func anyAddress(_ choices: Choices) -> IPAddress? {
    var choices = choices
    return choices.flag() ? .v6(high: choices.number(), low: choices.number()) : .v4(choices.number())
  }
}
