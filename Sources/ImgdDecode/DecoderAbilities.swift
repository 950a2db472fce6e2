package import ImgdPicture

/// What a decoder says about itself before it takes orders.
package struct DecoderAbilities: Hashable, Sendable {
  /// The layers of the sandbox that the decoder has put itself into.
  package struct Layers: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Limits of memory, time, files and processes.
    package static let limits = Layers(rawValue: 1)
    /// A filter of system calls.
    package static let calls = Layers(rawValue: 2)
    /// Landlock: no file is reached by its name.
    package static let files = Layers(rawValue: 4)
    /// No new rights, not dumpable, ends with its parent.
    package static let process = Layers(rawValue: 8)

    package static let all: Layers = [.limits, .calls, .files, .process]
  }

  package let layers: Layers
  /// The formats that it reads, and those that it writes.
  package let reads: Set<PictureFormat>
  package let writes: Set<PictureFormat>
  /// The library and its version, for people.
  package let library: String

  package init(layers: Layers, reads: Set<PictureFormat>, writes: Set<PictureFormat>, library: String) {
    self.layers = layers
    self.reads = reads
    self.writes = writes
    self.library = library
  }
}

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
