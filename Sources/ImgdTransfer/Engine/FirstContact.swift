// A full handshake of TLS costs both sides signatures and a chain of certificates. Connections that are opened at once
// would each have one. Those that are opened after the first resume its session or, where it speaks HTTP/2, do not
// have to be opened. So one transfer goes ahead to an origin that no other is under way to, and the others follow once
// it has got so far, has failed, or takes too long.

internal import ImgdSystem

/// The transfers under way to one origin with TLS.
final class FirstContact {
  fileprivate let origin: String
  private unowned let loop: EventLoop
  fileprivate private(set) var members = 0
  private var isMade = false
  private var waiting: [UInt64: () -> Void] = [:]
  private var alarm: Timer?

  fileprivate init(_ origin: String, loop: EventLoop) {
    self.origin = origin
    self.loop = loop
  }

  /// Calls `begin` once, now or at the end of the tick in which contact is made, which is waited for with some
  /// patience. It is not called after `leave`.
  func join(_ serial: UInt64, patience: Duration, _ begin: @escaping () -> Void) {
    members += 1
    if members == 1 || isMade { return begin() }
    waiting[serial] = begin
    if alarm == nil { alarm = loop.schedule(after: patience) { [unowned self] in noteMade() } }
  }

  /// Lets all others follow; may be called from curl's callbacks.
  func noteMade() {
    guard !isMade else { return }
    isMade = true
    alarm?.cancel()
    guard !waiting.isEmpty else { return }
    loop.atTickEnd { [self] in for serial in waiting.keys.sorted() { waiting.removeValue(forKey: serial)?() } }
  }

  fileprivate func leave(_ serial: UInt64) {
    members -= 1
    // The one ahead has ended without contact.
    if waiting.removeValue(forKey: serial) == nil { noteMade() }
    if members == 0 { alarm?.cancel() }
  }
}

/// The origins with TLS that transfers are under way to.
struct FirstContacts {
  private var contacts: [String: FirstContact] = [:]

  var count: Int { contacts.count }

  mutating func contact(with origin: String, loop: EventLoop) -> FirstContact {
    if let contact = contacts[origin] { return contact }
    let contact = FirstContact(origin, loop: loop)
    contacts[origin] = contact
    return contact
  }

  mutating func leave(_ contact: FirstContact, _ serial: UInt64) {
    contact.leave(serial)
    if contact.members == 0 { contacts[contact.origin] = nil }
  }
}
