import ImgdPicture

/// magic, version, kind; layers (1 byte), formats read and written (a bit each in 4 bytes), library (a text).
extension DecoderAbilities {
  var message: [UInt8] {
    var writer = MessageWriter(.abilities)
    writer.append(layers.rawValue)
    writer.append(Self.bits(of: reads))
    writer.append(Self.bits(of: writes))
    writer.append(library)
    return writer.bytes
  }

  init?(_ reader: consuming MessageReader) {
    guard let layers = reader.byte().map(Layers.init), Layers.all.isSuperset(of: layers),
      let reads = reader.number(UInt32.self).flatMap(Self.formats),
      let writes = reader.number(UInt32.self).flatMap(Self.formats), let library = reader.text(), reader.isAtEnd
    else { return nil }
    self.init(layers: layers, reads: reads, writes: writes, library: library)
  }

  private static func bits(of formats: Set<PictureFormat>) -> UInt32 {
    formats.reduce(0) { $0 | 1 << UInt32($1.rawValue) }
  }

  /// Nil if a bit stands for no format.
  private static func formats(_ bits: UInt32) -> Set<PictureFormat>? {
    let formats = Set(PictureFormat.allCases.filter { bits >> UInt32($0.rawValue) & 1 == 1 })
    return Self.bits(of: formats) == bits ? formats : nil
  }
}
