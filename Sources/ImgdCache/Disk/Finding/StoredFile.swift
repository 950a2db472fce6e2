/// What an image keeps of its file on disk, which may have gone in the meantime.
package final class StoredFile {
  let place: Int
  /// The generation of its index: another index gives the same numbers to other entries.
  let generation: Int
  /// The directory that has all files; they share one copy of this text.
  private let directory: String
  private let file: PictureFile
  /// The term in which it was last lent (`DiskLending`); 0 if it was not lent yet.
  var term = 0
  /// The end of an answer that tells the path, encoded by the daemon.
  private var ending: [UInt8]?

  init(_ file: PictureFile, in directory: String, place: Int, generation: Int) {
    self.file = file
    self.directory = directory
    self.place = place
    self.generation = generation
  }

  var number: UInt32 { file.number }

  /// Its path, put together for each call: few pictures are asked for by path, and the ending of their answers is kept.
  package var path: String { file.path(in: directory) }

  /// A rough figure that includes the ending, whether or not it has one yet.
  var cost: Int { 256 }

  /// The daemon's encoding of the path, made once.
  package func ending(orElse encode: (String) -> [UInt8]) -> [UInt8] {
    if let ending { return ending }
    let encoded = encode(path)
    ending = encoded
    return encoded
  }
}
