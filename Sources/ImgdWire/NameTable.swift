/// A short name as two machine words, so that comparing it is comparing numbers.
struct ShortName: Equatable {
  /// Bytes of the longest name.
  static let longest = 16

  private let low: UInt64
  private let high: UInt64

  /// The name that `text` spells; nil when it is longer than any known name.
  ///
  /// The rest is filled with zero bytes, which accepted text cannot hold.
  @inline(__always) init?(_ text: Span<UInt8>) {
    guard text.count <= Self.longest else { return nil }
    var (low, high): (UInt64, UInt64) = (0, 0)
    for index in 0..<min(text.count, 8) { low = low << 8 | UInt64(text[index]) }
    for index in min(text.count, 8)..<text.count { high = high << 8 | UInt64(text[index]) }
    self.low = low
    self.high = high
  }

  /// A literal of at most eight bytes, which the compiler folds into a number.
  @inline(__always) init(_ text: StaticString) {
    var low: UInt64 = 0
    for index in 0..<text.utf8CodeUnitCount {
      // The index is below the static string's own length.
      low = unsafe low << 8 | UInt64(text.utf8Start[index])
    }
    self.low = low
    high = 0
  }
}

/// The values that a field or a key can take, found by their names on the wire.
struct NameTable<Name: CaseIterable & Sendable>: Sendable {
  private let entries: [(name: ShortName, value: Name)]

  init(_ spelling: (Name) -> String) {
    entries = Name.allCases.compactMap { value in ShortName(Array(spelling(value).utf8).span).map { ($0, value) } }
  }

  @inline(__always) subscript(_ name: ShortName) -> Name? {
    for entry in entries where entry.name == name { return entry.value }
    return nil
  }
}

extension NameTable where Name: RawRepresentable<String> { init() { self.init { $0.rawValue } } }

/// Values whose names on the wire are looked up in a table.
protocol WireNamed: CaseIterable, RawRepresentable<String>, Sendable { static var table: NameTable<Self> { get } }

extension WireNamed {
  @inline(__always) static func named(_ token: JSONToken, in line: Span<UInt8>) -> Self? {
    if token.isEscaped { return Self(rawValue: token.string(in: line)) }
    return ShortName(line.extracting(token.range)).flatMap { table[$0] }
  }
}

extension Request.Command: WireNamed { static let table = NameTable<Self>() }
extension CacheMode: WireNamed { static let table = NameTable<Self>() }
extension Delivery: WireNamed { static let table = NameTable<Self>() }
extension StorePolicy: WireNamed { static let table = NameTable<Self>() }
extension Priority: WireNamed { static let table = NameTable<Self>() }
extension OutputFormat: WireNamed { static let table = NameTable<Self>() }
extension FrameChoice: WireNamed { static let table = NameTable<Self>() }
extension Tier: WireNamed { static let table = NameTable<Self>() }
extension PurgeRequest.Scope: WireNamed { static let table = NameTable<Self>() }
