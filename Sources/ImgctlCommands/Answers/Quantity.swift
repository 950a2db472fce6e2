/// Quantities as people read them.
enum Quantity {
  /// A size with two or three significant digits and a unit.
  static func size(_ bytes: Int) -> String {
    guard bytes >= 1024 else { return "\(bytes) bytes" }
    var tenths = bytes / 1024 * 10 + bytes % 1024 * 10 / 1024
    var units = ["K", "M", "G", "T", "P", "E"][...]
    while tenths >= 10_240, units.count > 1 {
      tenths /= 1024
      units.removeFirst()
    }
    let unit = units.first ?? ""
    return tenths < 100 ? "\(tenths / 10).\(tenths % 10)\(unit)" : "\(tenths / 10)\(unit)"
  }
}
