import Testing

@testable import ImgdSystem

@Suite struct NearestNameTests {
  private let names = ["Capacity", "Preferred", "MaxEntry"]

  @Test(arguments: [
    ("Capcity", "Capacity"), ("capacity", "Capacity"), ("Capactiy", "Capacity"),
    ("Prefered", "Preferred"), ("MaxEntries", "MaxEntry"), ("maxentry", "MaxEntry"),
  ])
  func slipsAreRecognised(word: String, meant: String) {
    #expect(nearestName(to: word, among: names) == meant)
  }

  @Test(arguments: ["", "Colour", "x", "Entry", String(repeating: "Capacity", count: 1000)])
  func strangersAreNot(word: String) {
    #expect(nearestName(to: word, among: names) == nil)
  }

  @Test func nothingIsNearWhereThereIsNothing() {
    #expect(nearestName(to: "Capacity", among: []) == nil)
  }

  @Test func swappedNeighboursAreOneSlip() {
    #expect(nearestName(to: "egt", among: ["set", "get"]) == "get")
  }
}
