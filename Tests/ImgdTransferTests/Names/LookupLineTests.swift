import Testing

@testable import ImgdTransfer

struct LookupLineTests {
  private var line = LookupLine()
  private var questions: [NamedLookup.Question] = []

  private mutating func add(_ name: String, _ uid: UInt32) -> NamedLookup {
    let lookup = NamedLookup(name)
    questions.append(lookup.ask(for: uid) { _ in })
    line.add(lookup, for: uid)
    return lookup
  }

  private mutating func next(where mayBegin: (UInt32) -> Bool = { _ in true }) -> String? {
    line.next(where: mayBegin).map { lookup, uid in
      lookup.startedFor = uid
      return lookup.name
    }
  }

  @Test mutating func `users take turns, each in the order of arrival`() {
    for name in ["a1", "a2", "a3"] { _ = add(name, 1) }
    for name in ["b1", "b2"] { _ = add(name, 2) }
    let order = (0..<6).map { _ in next() }
    #expect(order == ["a1", "b1", "a2", "b2", "a3", nil])
    #expect(line.count == 0)
  }

  @Test mutating func `a user who may not begin keeps the place`() {
    _ = add("a1", 1)
    _ = add("b1", 2)
    let others = next { $0 != 1 }
    #expect(others == "b1")
    let none = next { $0 != 1 }
    #expect(none == nil)
    let first = next()
    #expect(first == "a1")
  }

  @Test mutating func `a look-up for several users begins once, in the first turn`() {
    _ = add("a1", 1)
    let shared = add("shared", 1)
    questions.append(shared.ask(for: 2) { _ in })
    line.add(shared, for: 2)
    let order = (0..<3).map { _ in next() }
    #expect(order == ["a1", "shared", nil])
  }

  @Test mutating func `a line does not grow with look-ups that nobody wants any more`() {
    _ = add("wanted", 1)
    for index in 0..<10_000 {
      let lookup = add("\(index)", UInt32(index % 3))
      _ = lookup.withdraw(questions.removeLast())
      line.tidy(live: 1)
    }
    #expect(line.count <= 18)
    let first = next()
    #expect(first == "wanted")
    let none = next()
    #expect(none == nil)
  }
}
