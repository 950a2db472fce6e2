import Glibc
import ImgdTestSupport
import Testing

@testable import ImgdSystem

struct BodySlabsTests {
  private static let slab = 2 << 20
  private static let most = Payload.heapLimit
  private let slabs = BodySlabs()

  /// Memory that is filled with one byte, so that it is seen when somebody else gets it too.
  private struct Body {
    let place: UnsafeMutableRawPointer
    let size: Int
    let mark: UInt8

    init(_ slabs: BodySlabs, _ size: Int, mark: UInt8 = 1) {
      (place, self.size, self.mark) = (slabs.allocate(size), size, mark)
      memset(place, Int32(mark), size)
    }

    private init(_ place: UnsafeMutableRawPointer, _ size: Int, _ mark: UInt8) {
      (self.place, self.size, self.mark) = (place, size, mark)
    }

    var isWhole: Bool { UnsafeRawBufferPointer(start: place, count: size).allSatisfy { $0 == mark } }

    func resized(_ slabs: BodySlabs, to wanted: Int) -> Body {
      let moved = slabs.resize(place, from: size, to: wanted)
      if wanted > size { memset(moved + size, Int32(mark), wanted - size) }
      return Body(moved, wanted, mark)
    }
  }

  private func release(_ bodies: some Sequence<Body>) { for body in bodies { slabs.release(body.place, body.size) } }

  /// Whether the kernel has any memory there.
  private func isMapped(_ place: UnsafeMutableRawPointer) -> Bool {
    var present: UInt8 = 0
    return mincore(UnsafeMutableRawPointer(bitPattern: UInt(bitPattern: place) & ~4_095), 1, &present) == 0
  }

  @Test func `bodies of all sizes keep their bytes while others come and go`() {
    var random = SeededGenerator(seed: 30)
    var bodies: [Body] = []
    for number in 0..<20_000 {
      let size = Int.random(in: 0...(number % 100 == 0 ? 3 * Self.most : Self.most / 4), using: &random)
      bodies.append(Body(slabs, size, mark: UInt8(truncatingIfNeeded: number)))
      let other = Int.random(in: bodies.indices, using: &random)
      if number % 3 == 0 {
        bodies[other] = bodies[other].resized(slabs, to: Int.random(in: 0...2 * Self.most, using: &random))
      }
      guard bodies.count > 300 else { continue }
      let gone = bodies.remove(at: other)
      #expect(gone.isWhole)
      release([gone])
    }
    #expect(bodies.allSatisfy { $0.isWhole })
    release(bodies)
    #expect(slabs.unused == Self.slab, "all of them have merged into the one that is kept")
  }

  @Test func `a body gets the smallest hole that has room for it`() {
    let sizes = [20_000, 1, 10_000, 1, 30_000, 1]
    let bodies = sizes.map { Body(slabs, $0) }
    release([bodies[0], bodies[2], bodies[4]])
    let next = [9_800, 29_700, 19_700].map { Body(slabs, $0) }
    #expect(next.map(\.place) == [bodies[2].place, bodies[4].place, bodies[0].place])
    // Without such a hole it gets a part of a larger one.
    release([next[1]])
    #expect(Body(slabs, 15_000).place == bodies[4].place)
    #expect(Body(slabs, 10_000).place == bodies[4].place + 15_360)
  }

  @Test func `what lies free side by side is one`() {
    let bodies = (0..<31).map { _ in Body(slabs, Self.most) }
    let whole = slabs.unused
    release(bodies.enumerated().filter { $0.offset % 2 == 0 }.map(\.element))
    release(bodies.enumerated().filter { $0.offset % 2 == 1 }.map(\.element))
    let again = (0..<31).map { _ in Body(slabs, Self.most) }
    #expect(slabs.unused == whole)
    #expect(Set(again.map(\.place)) == Set(bodies.map(\.place)))
  }

  @Test func `a slab without a body goes back to the kernel, one when it is asked for`() {
    // 31 have room in a slab.
    let bodies = (0..<100).map { _ in Body(slabs, Self.most) }
    #expect(slabs.unused == 4 * Self.slab - 100 * Self.most)
    #expect(bodies.allSatisfy { isMapped($0.place) })
    release(bodies)
    #expect(slabs.unused == Self.slab)
    #expect(bodies.count { isMapped($0.place) } <= 31)
    slabs.giveBack()
    #expect(slabs.unused == 0)
    #expect(!bodies.contains { isMapped($0.place) })
    let body = Body(slabs, 1)
    slabs.giveBack()
    #expect(body.isWhole)
    #expect(slabs.unused == Self.slab - BodySlabs.taken(1))
  }

  @Test func `the slab that is kept is the next`() {
    let first = Body(slabs, 1_000)
    release([first])
    #expect(Body(slabs, 2_000).place == first.place)
    #expect(slabs.unused == Self.slab - BodySlabs.taken(2_000))
  }

  @Test func `a body becomes smaller where it is`() {
    let body = Body(slabs, 60_000)
    let wall = Body(slabs, 1)
    let small = body.resized(slabs, to: 1_000)
    #expect(small.place == body.place && small.isWhole)
    let next = Body(slabs, 58_800)
    #expect(next.place == body.place + 1_024)
    #expect(small.isWhole && next.isWhole && wall.isWhole)
    #expect(small.resized(slabs, to: 0).place == body.place)
  }

  @Test func `bytes are kept when a body becomes larger than a slab has room for`() {
    var body = Body(slabs, 100)
    for size in [Self.most, Self.most + 1, 5 << 20, 10, 1 << 20] {
      body = body.resized(slabs, to: size)
      #expect(body.isWhole)
    }
    release([body])
    #expect(slabs.unused == Self.slab)
    #expect(BodySlabs.taken(1 << 20) == 1 << 20 && BodySlabs.taken(28_000) == 28_160 && BodySlabs.taken(0) == 512)
  }

  @Test func `one thread allocates what others release`() throws {
    struct Handed: @unchecked Sendable { let body: Body }
    let slabs = slabs
    let line = Locked<[Handed]>([])
    let damaged = Locked(0)
    let count = 5_000
    let makers = try (0..<3).map { maker in
      try Thread(name: "maker") {
        for number in 0..<count {
          let size = (number * 7_919 + maker * 31) % Self.most
          let body = Body(slabs, size, mark: UInt8(truncatingIfNeeded: number)).resized(slabs, to: size / 2)
          line.signal { $0.append(Handed(body: body)) }
        }
      }
    }
    let user = try Thread(name: "user") {
      for _ in 0..<3 * count {
        let body = line.wait { $0.popLast() }.body
        if !body.isWhole { damaged.withLock { $0 += 1 } }
        slabs.release(body.place, body.size)
      }
    }
    for thread in makers + [user] { thread.join() }
    #expect(damaged.withLock { $0 } == 0)
    #expect(slabs.unused == Self.slab)
  }
}
