@testable import ImgdProgram

/// A program with a few keys.
struct Sample: ProgramConfiguration {
  var capacity = 100
  var limit = 10
  var name = "/a"

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
