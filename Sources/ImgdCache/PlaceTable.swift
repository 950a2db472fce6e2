/// Finds places by hash: open addressing with linear probing, eight bytes a cell.
///
/// A cell holds a place and 32 bits of its hash, which say both where the cell belongs and whether the place is worth
/// a look. Removing moves the following cells up instead of leaving a mark, so a table is rebuilt only in order to
/// grow. When a table grows, all its cells move, which with a million places would hold up everybody for some seventy
/// milliseconds. So there are 256 small tables, each of which grows by itself.
struct PlaceTable {
  private static let parts = 256

  private var tables = [Part](repeating: Part(), count: parts)

  /// The part of a hash that the tables use.
  static func tag(_ hash: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: hash >> 32) }

  /// The first place under a tag for which `matches` returns true.
  @inline(__always) func place(_ tag: UInt32, where matches: (Int) -> Bool) -> Int? {
    // Places are asked for one by one, so that no table is held while `matches` runs: that saves reference counting.
    let part = Self.part(of: tag)
    var index = tables.span[part].home(tag)
    while let (place, next) = tables.span[part].place(tag, from: index) {
      if matches(place) { return place }
      index = next
    }
    return nil
  }

  /// Where the look for a tag begins, to be fetched by the processor and not to be read.
  @unsafe @inline(__always) func address(_ tag: UInt32) -> UnsafeRawPointer? {
    unsafe tables.span[Self.part(of: tag)].address(tag)
  }

  /// The place in the first cell under a tag, which is the one that is looked for unless two keys have the same tag.
  @inline(__always) func likelyPlace(_ tag: UInt32) -> Int? {
    let part = Self.part(of: tag)
    return tables.span[part].place(tag, from: tables.span[part].home(tag))?.place
  }

  mutating func insert(_ tag: UInt32, _ place: Int) { tables[Self.part(of: tag)].insert(tag, place) }

  mutating func remove(_ tag: UInt32, _ place: Int) { tables[Self.part(of: tag)].remove(tag, place) }

  /// The first byte of a tag says in which table it is, and the rest where in that table.
  @inline(__always) private static func part(of tag: UInt32) -> Int { Int(tag >> 24) }
}

/// One of the tables: the tags in it share their first byte.
private struct Part {
  private struct Cell {
    var tag: UInt32
    /// The place plus one; zero for an empty cell.
    var content: UInt32
  }

  private static let smallest = 4

  private var cells = [Cell](repeating: Cell(tag: 0, content: 0), count: smallest)
  private var shift = UInt32(32 - smallest.trailingZeroBitCount)
  private var used = 0

  /// The next place under a tag, from a cell on, and the cell to go on from.
  @inline(__always) func place(_ tag: UInt32, from start: Int) -> (place: Int, next: Int)? {
    let cells = cells.span
    var index = start
    while case let cell = cells[index], cell.content != 0 {
      if cell.tag == tag { return (Int(cell.content) - 1, next(index)) }
      index = next(index)
    }
    return nil
  }

  @unsafe @inline(__always) func address(_ tag: UInt32) -> UnsafeRawPointer? {
    unsafe cells.span.withUnsafeBufferPointer { unsafe UnsafeRawPointer($0.baseAddress.map { unsafe $0 + home(tag) }) }
  }

  mutating func insert(_ tag: UInt32, _ place: Int) {
    if used * 4 >= cells.count * 3 { grow() }
    put(Cell(tag: tag, content: UInt32(place + 1)))
    used += 1
  }

  mutating func remove(_ tag: UInt32, _ place: Int) {
    let content = UInt32(place + 1)
    var hole = home(tag)
    while cells[hole].content != content {
      precondition(cells[hole].content != 0, "a place that is removed is in the table")
      hole = next(hole)
    }
    closeUp(&hole)
    cells[hole].content = 0
    used -= 1
  }

  /// Moves following cells that may stand there into the hole, until it meets an empty cell.
  private mutating func closeUp(_ hole: inout Int) {
    var index = next(hole)
    while cells[index].content != 0 {
      let wanted = home(cells[index].tag)
      if distance(wanted, index) >= distance(hole, index) {
        cells[hole] = cells[index]
        hole = index
      }
      index = next(index)
    }
  }

  private mutating func grow() {
    let old = cells
    cells = [Cell](repeating: Cell(tag: 0, content: 0), count: old.count * 2)
    shift -= 1
    for cell in old where cell.content != 0 { put(cell) }
  }

  private mutating func put(_ cell: Cell) {
    var index = home(cell.tag)
    while cells[index].content != 0 { index = next(index) }
    cells[index] = cell
  }

  /// The cell at which the search for a tag begins.
  @inline(__always) func home(_ tag: UInt32) -> Int { Int((tag << 8) >> shift) }

  @inline(__always) private func next(_ index: Int) -> Int { (index + 1) & (cells.count - 1) }

  private func distance(_ from: Int, _ to: Int) -> Int { (to - from) & (cells.count - 1) }
}
