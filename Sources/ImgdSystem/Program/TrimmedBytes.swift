extension ArraySlice<UInt8> {
  /// The bytes without those of `blanks` at either end.
  package func trimmed(of blanks: StaticString) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { blanks.withUTF8Buffer { unsafe $0.contains(byte) } }
    let start = drop(while: isBlank)
    let end = start.lastIndex { !isBlank($0) }
    return end.map { start[...$0] } ?? []
  }
}
