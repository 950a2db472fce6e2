/// A profile of colours in which red and blue have changed places: nobody overlooks whether it was applied.
package enum TestProfile {
  package static let swapped: [UInt8] = profile(
    red: (0.1431, 0.0606, 0.7141), green: (0.3851, 0.7169, 0.0971), blue: (0.4360, 0.2225, 0.0139))

  private typealias Colour = (x: Double, y: Double, z: Double)

  private static func profile(red: Colour, green: Colour, blue: Colour) -> [UInt8] {
    let curve = Array("curv".utf8) + TestPicture.big32(0) + TestPicture.big32(1) + [2, 0x33, 0, 0]
    let tags: [(name: String, content: [UInt8])] = [
      ("desc", description("swapped")), ("wtpt", xyz((0.9642, 1, 0.8249))), ("rXYZ", xyz(red)),
      ("gXYZ", xyz(green)), ("bXYZ", xyz(blue)), ("rTRC", curve), ("gTRC", curve), ("bTRC", curve),
    ]
    var table = TestPicture.big32(tags.count)
    var content: [UInt8] = []
    for tag in tags {
      let start = 128 + 4 + 12 * tags.count + content.count
      table +=
        Array(tag.name.utf8) + TestPicture.big32(start) + TestPicture.big32(tag.content.count)
      content += tag.content
    }
    return header(count: 128 + table.count + content.count) + table + content
  }

  /// Version 2, a display, from RGB to XYZ, seen by the light of D50.
  private static func header(count: Int) -> [UInt8] {
    var header = TestPicture.big32(count) + [0, 0, 0, 0] + [2, 0x10, 0, 0]
    header += Array("mntrRGB XYZ ".utf8)
    header += [7, 0xEA, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0] + Array("acsp".utf8)
    header += [UInt8](repeating: 0, count: 68 - header.count) + fixed(0.9642) + fixed(1)
    header += fixed(0.8249)
    return header + [UInt8](repeating: 0, count: 128 - header.count)
  }

  private static func description(_ text: String) -> [UInt8] {
    var tag = Array("desc".utf8) + TestPicture.big32(0) + TestPicture.big32(text.utf8.count + 1)
    tag += Array(text.utf8) + [UInt8](repeating: 0, count: 1 + 8 + 2 + 1 + 67)
    return tag + [UInt8](repeating: 0, count: (4 - tag.count % 4) % 4)
  }

  private static func xyz(_ colour: Colour) -> [UInt8] {
    Array("XYZ ".utf8) + TestPicture.big32(0) + fixed(colour.x) + fixed(colour.y) + fixed(colour.z)
  }

  /// Sixteen bits before the point and sixteen after it.
  private static func fixed(_ number: Double) -> [UInt8] {
    TestPicture.big32(Int((number * 65_536).rounded()))
  }
}
