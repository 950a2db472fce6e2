package import ImgdProgram
import ImgdSystem

extension Configuration {
  package static let example: (section: ConfigurationSection, assignment: String) = (.memory, "Capacity=200M")

  /// Clients use this variable too.
  package static let shortVariables: [(variable: String, section: ConfigurationSection, key: String)] = [
    ("IMGD_SOCKET", .control, "Socket")
  ]

  /// Complains if `Preferred` exceeds `Capacity`: an eviction cannot leave more than the tier may hold.
  package func contradictions(origin: (_ key: String) -> String) -> [String] {
    // A percentage follows the capacity.
    guard case .bytes(let preferred) = memory.preferred, preferred > memory.capacity else { return [] }
    let capacity = SizeText.text(memory.capacity)
    return [
      "\(origin("Memory.Preferred")): Memory.Preferred=\(SizeText.text(preferred)) is more than "
        + "Memory.Capacity=\(capacity): set Memory.Preferred to at most "
        + "\(capacity), or to a percentage such as 60%, which follows Capacity"
    ]
  }
}
