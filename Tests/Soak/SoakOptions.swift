import ImgdTestSupport

/// What the command line says.
struct SoakOptions {
  /// After so many findings more say nothing new.
  static let mostFindings = 50

  var minutes = 5.0
  var seed: UInt64 = 1
  var interposer = ""
  var report = "."
  /// The one fault to play; nil for all.
  var only: String?

  init(_ arguments: [String]) throws {
    var rest = arguments.dropFirst()
    while let option = rest.popFirst() {
      guard let value = rest.popFirst() else { throw TestFailure("\(option) needs a value") }
      switch option {
      case "--minutes": minutes = try Self.number(value, option)
      case "--seed": seed = UInt64(try Self.number(value, option))
      case "--interposer": interposer = value
      case "--report": report = value
      case "--only":
        guard Fault.all.contains(where: { $0.name == value }) else {
          let names = Fault.all.map(\.name).joined(separator: ", ")
          throw TestFailure("there is no fault \"\(value)\"; there are: \(names)")
        }
        only = value
      default: throw TestFailure("there is no option \(option)")
      }
    }
    guard !interposer.isEmpty else { throw TestFailure("--interposer has to name the library of interposer.c") }
  }

  private static func number(_ text: String, _ option: String) throws -> Double {
    guard let number = Double(text), number > 0 else {
      throw TestFailure("\(option) takes a number above 0, not \(text)")
    }
    return number
  }
}
