import Glibc

/// The place where pictures are shown: its size, and what it can draw.
struct Screen {
  /// What is assumed of a screen that does not tell its size.
  private static let usual = CellSize(columns: 80, rows: 24)
  private static let usualCell = PixelSize(width: 10, height: 20)

  /// The columns and rows that a picture may take.
  let cells: CellSize
  let cell: PixelSize
  let hasKittyPictures: Bool
  let hasSixels: Bool

  init(_ context: Context, limit: CellLimit) {
    guard context.console.terminals.output else {
      self.init(limit.applied(to: Self.usual), nil, TerminalReplies())
      return
    }
    let measures = Self.measures
    var cells = measures.map { CellSize(columns: Int($0.ws_col), rows: Int($0.ws_row)) }
    if cells?.columns == 0 || cells?.rows == 0 { cells = nil }
    // The prompt that follows needs a line, and must not push the picture out.
    let room = cells.map { CellSize(columns: $0.columns, rows: max(1, $0.rows - 1)) }
    let replies = TerminalQuery.isUseful(in: context.environment) ? TerminalQuery.ask() : nil
    self.init(limit.applied(to: room ?? Self.usual), measures.flatMap(Self.cell), replies ?? TerminalReplies())
  }

  private init(_ cells: CellSize, _ cell: PixelSize?, _ replies: TerminalReplies) {
    self.cells = cells
    self.cell = replies.cell ?? cell ?? Self.usualCell
    hasKittyPictures = replies.hasKittyPictures
    hasSixels = replies.hasSixels
  }

  /// The kernel's notes about the terminal of standard output.
  private static var measures: winsize? {
    var measures = winsize()
    // Fills in a value of this type, which lives on this stack.
    return unsafe ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &measures) == 0 ? measures : nil
  }

  private static func cell(_ measures: winsize) -> PixelSize? {
    guard measures.ws_xpixel > 0, measures.ws_ypixel > 0, measures.ws_col > 0, measures.ws_row > 0 else { return nil }
    return PixelSize(
      width: max(1, Int(measures.ws_xpixel / measures.ws_col)),
      height: max(1, Int(measures.ws_ypixel / measures.ws_row)))
  }
}
