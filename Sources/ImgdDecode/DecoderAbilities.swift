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
