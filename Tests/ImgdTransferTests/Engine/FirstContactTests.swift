import ImgdSystem
import Testing

@testable import ImgdTransfer

struct FirstContactTests {
  private static let patience = Duration.seconds(1)

  private let clock = LoopClock.manual()
  private let loop: EventLoop
  private let stage = Stage()

  private final class Stage {
    var contacts = FirstContacts()
    var begun: [UInt64] = []
  }

  init() throws { loop = try EventLoop(clock: clock) }

  private func join(_ serials: UInt64..., origin: String = "a:443") -> FirstContact {
    let contact = stage.contacts.contact(with: origin, loop: loop)
    for serial in serials { contact.join(serial, patience: Self.patience) { [stage] in stage.begun.append(serial) } }
    return contact
  }

  @Test func `one goes ahead, and the others follow in their order at the end of the tick`() {
    let contact = join(1, 3, 2)
    #expect(stage.begun == [1])
    contact.noteMade()
    #expect(stage.begun == [1])
    loop.settle()
    #expect(stage.begun == [1, 2, 3])
    _ = join(4)
    #expect(stage.begun == [1, 2, 3, 4])
  }

  @Test func `each origin has one that goes ahead`() {
    _ = join(1, 2)
    _ = join(3, 4, origin: "a:444")
    #expect(stage.begun == [1, 3])
  }

  @Test func `one that leaves while it waits is not begun`() {
    let contact = join(1, 2, 3)
    stage.contacts.leave(contact, 2)
    loop.settle()
    #expect(stage.begun == [1])
    contact.noteMade()
    stage.contacts.leave(contact, 3)
    loop.settle()
    #expect(stage.begun == [1])
  }

  @Test func `the others follow when the one ahead ends without contact`() {
    let contact = join(1, 2, 3)
    stage.contacts.leave(contact, 1)
    loop.settle()
    #expect(stage.begun == [1, 2, 3])
  }

  @Test func `the others follow when the one ahead takes too long`() {
    _ = join(1, 2)
    clock.advance(by: Self.patience - .milliseconds(1))
    loop.settle()
    #expect(stage.begun == [1])
    clock.advance(by: .milliseconds(1))
    loop.settle()
    #expect(stage.begun == [1, 2])
  }

  @Test func `an origin that nobody is under way to is forgotten`() {
    let contact = join(1, 2)
    contact.noteMade()
    loop.settle()
    stage.contacts.leave(contact, 1)
    stage.contacts.leave(contact, 2)
    #expect(stage.contacts.count == 0)
    _ = join(5, 6)
    #expect(stage.begun == [1, 2, 5])
  }
}
