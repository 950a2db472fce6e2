import ImgdTestSupport
import Testing

@testable import ImgdGateway

struct NewestPlaceTests {
  /// The numbers of a listing's entries, and how often somebody has looked.
  private struct Listing {
    var numbers: [Int]
    var looks = 0

    mutating func find(_ wanted: Int, from candidate: Int = 0) -> (place: Int, found: [Int]) {
      var place = NewestPlace(wanted: wanted, from: candidate)
      while true {
        looks += 1
        let behind = numbers.drop { $0 <= place.candidate }
        if place.isFound(by: min(behind.count, wanted), hasMore: behind.count > wanted) {
          return (place.candidate, Array(behind))
        }
        precondition(looks < 1_000, "the search does not end")
      }
    }
  }

  @Test(arguments: [0, 1, 2, 30, 59, 60, 61, 100, 5_000, 1_000_000])
  func `the end of a listing is found in few looks`(count: Int) {
    var listing = Listing(numbers: Array(0..<count).map { $0 + 1 })
    let (_, found) = listing.find(60)
    #expect(found.count <= 60 && found.count >= min(count, 30))
    #expect(found.last == listing.numbers.last && listing.looks <= 40)
  }

  @Test func `holes do not matter`() {
    var generator = SeededGenerator(seed: 7)
    for _ in 0..<100 {
      let count = Int.random(in: 0...400, using: &generator)
      let most = 1 << Int.random(in: 9...32, using: &generator)
      let numbers = Set((0..<count).map { _ in Int.random(in: 1..<most, using: &generator) })
      var listing = Listing(numbers: numbers.sorted())
      let (_, found) = listing.find(60)
      #expect(found.count <= 60 && found.count >= min(numbers.count, 30))
      #expect(listing.looks <= 80)
    }
  }

  @Test func `the place of the last time is one look away, and lost when entries go`() {
    var listing = Listing(numbers: Array(1...10_000))
    let (place, _) = listing.find(60)
    listing.looks = 0
    listing.numbers.append(10_001)
    let later = listing.find(60, from: place)
    #expect(later.found.last == 10_001 && listing.looks <= 3)
    listing.numbers = Array(1...20)
    let fewer = listing.find(60, from: place)
    #expect(fewer.found.count == 20)
    listing.numbers = [1]
    let one = listing.find(60, from: place)
    #expect(one.found == [1])
  }

  @Test func `a listing that grows meanwhile is caught up with`() {
    var place = NewestPlace(wanted: 4, from: 100)
    // Too few behind it, then more than a page behind the same place.
    let isFoundFirst = place.isFound(by: 1, hasMore: false)
    #expect(!isFoundFirst && place.candidate < 100)
    while place.candidate < 100 { _ = place.isFound(by: 4, hasMore: true) }
    let isFoundThere = place.isFound(by: 4, hasMore: true)
    #expect(!isFoundThere && place.candidate > 100)
  }
}
