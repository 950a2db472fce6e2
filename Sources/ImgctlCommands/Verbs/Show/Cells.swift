import ImgdSystem
import ImgdWire

/// A size in pixels.
struct PixelSize: Equatable {
  var width: Int
  var height: Int
}

/// A size in the cells of a terminal, each of which holds one letter.
struct CellSize: Equatable {
  var columns: Int
  var rows: Int
}

/// The most columns and rows that the user grants to a picture.
struct CellLimit: Equatable {
  var columns: Int?
  var rows: Int?

  /// Reads `40x20`, `40x` or `x20`.
  init(_ text: String?) throws(UsageProblem) {
    guard let text else { return }
    guard let (columns, rows) = SidesText.sides(of: text, within: 1...10_000) else {
      throw UsageProblem("--size \(printable(text)) is not a number of columns and rows: write 40x20, 40x or x20")
    }
    self.columns = columns
    self.rows = rows
  }

  /// Cuts a size to what is granted.
  func applied(to size: CellSize) -> CellSize { CellSize(columns: columns ?? size.columns, rows: rows ?? size.rows) }
}
