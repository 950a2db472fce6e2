import Testing

@testable import ImgdText

struct NearestNameTests {
  private let names = ["Capacity", "Preferred", "MaxEntry"]

  @Test(arguments: [
    ("Capcity", "Capacity"), ("capacity", "Capacity"), ("Capactiy", "Capacity"),
    ("Prefered", "Preferred"), ("MaxEntries", "MaxEntry"), ("maxentry", "MaxEntry"),
  ])
  func `typing mistakes are recognised`(word: String, meant: String) {
    #expect(nearestName(to: word, among: names) == meant)
  }

  @Test(arguments: ["", "Colour", "x", "Entry", String(repeating: "Capacity", count: 1000)])
  func `other words are not recognised`(word: String) {
    #expect(nearestName(to: word, among: names) == nil)
  }

  @Test func `no name is near in an empty list`() {
    #expect(nearestName(to: "Capacity", among: []) == nil)
  }

  @Test func `swapped neighbours are one mistake`() {
    #expect(nearestName(to: "egt", among: ["set", "get"]) == "get")
  }
}
