@testable import ImgdProgram

/// A program with a few keys.
struct Sample: ProgramConfiguration {
  var capacity = 100
  var limit = 10
  var name = "/a"
  var origins: [Word: Values] = [:]

  /// The name of a section: a word, whatever the case.
  struct Word: SectionName {
    let text: String

    init(_ text: String) throws(WrongValue) {
      guard !text.contains("!") else { throw WrongValue("is not a word: leave out the !") }
      self.text = text.lowercased()
    }
  }

  struct Values: Equatable {
    var rate = 0
    var places = 4
  }

  static let namedSections = [
    NamedSections(
      .origin, \Sample.origins, usual: Values(),
      [
        ConfigurationKey(.origin, "Rate", \.rate, .count(0...1000), "How fast."),
        ConfigurationKey(.origin, "Places", \.places, .count(0...1000), "How many."),
      ])
  ]

  static let keys: [ConfigurationKey<Sample>] = [
    ConfigurationKey(.memory, "Capacity", \.capacity, .count(0...1000), "How much there is."),
    ConfigurationKey(.memory, "Limit", \.limit, .count(0...1000), isLive: false, "At most."),
    ConfigurationKey(.http, "Name", \.name, .path(longest: 10), "How it is called."),
  ]

  static let example: (section: ConfigurationSection, assignment: String) =
    (.memory, "Capacity=200")

  static let shortVariables: [(variable: String, section: ConfigurationSection, key: String)] =
    [("SHORT", .memory, "Capacity")]

  func contradictions(origin: (_ key: String) -> String) -> [String] {
    limit > capacity ? ["\(origin("Memory.Limit")): too much"] : []
  }
}
