import Glibc

/// A layout that outlives a process, as a text in Tests/Layouts: what the code writes that has this layout.
///
/// The number in its name is that of the layout. Who changes a layout raises the number and has a new text written, by a run
/// of the tests with `IMGD_LAYOUTS=write`; the texts of earlier releases stay, and go on being read.
package struct LayoutFixture {
  private static let directory =
    #filePath.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 } + "/Layouts/"

  private let name: String

  package init(_ name: String) { self.name = name }

  /// The layout of this code, whose text is written anew if that is asked for.
  package init(_ name: String, ofNow text: String) throws {
    self.name = name
    if getenv("IMGD_LAYOUTS") != nil { try write(text, to: Self.directory + name) }
  }

  /// The layouts of a kind, of this release and of those before.
  package static func all(_ kind: String) -> [LayoutFixture] {
    TemporaryDirectory.names(in: directory).filter { $0.hasPrefix(kind + "-") }.sorted().map { LayoutFixture($0) }
  }

  package var text: String {
    get throws {
      guard let text = read(Self.directory + name) else { throw TestFailure("there is no Tests/Layouts/\(name)") }
      return text
    }
  }

  package var bytes: [UInt8] {
    get throws {
      let digits = try text.compactMap(\.hexDigitValue)
      return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
    }
  }

  /// The number in the name.
  package var number: Int { Int(name.split(separator: ".")[0].split(separator: "-").last ?? "") ?? -1 }

  /// Bytes as a text, 32 in a line.
  package static func hex(_ bytes: [UInt8]) -> String {
    stride(from: 0, to: bytes.count, by: 32).map { start in
      bytes[start..<min(start + 32, bytes.count)].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + "\n"
    }.joined()
  }
}

/// What to do when a text is not what the code writes any more.
package let layoutHasChanged = "this layout has changed: raise its number, and write its text (CONTRIBUTING.md)"
