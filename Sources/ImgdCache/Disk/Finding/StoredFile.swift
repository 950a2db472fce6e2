/// An image's file on disk, if it is still the same entry.
package final class StoredFile {
  let place: Int
  /// Of the index that it is in: another one gives the same numbers to others.
  let generation: Int
  /// The directory that all files are below; its text is the same for all of them.
  private let directory: String
  private let file: PictureFile
  /// The term in which it was last lent (`DiskLending`); 0: in none.
  var term = 0
  /// How the daemon ends an answer that tells the path.
  private var ending: [UInt8]?

  init(_ file: PictureFile, in directory: String, place: Int, generation: Int) {
    self.file = file
    self.directory = directory
    self.place = place
    self.generation = generation
  }

  var number: UInt32 { file.number }

  /// Put together each time: few pictures are asked for by path, and their answers have an ending.
  package var path: String { file.path(in: directory) }

  /// With the ending that it may get.
  var cost: Int { 256 }

  /// The daemon's encoding of the path, made once.
  package func ending(orElse encode: (String) -> [UInt8]) -> [UInt8] {
    if let ending { return ending }
    let encoded = encode(path)
    ending = encoded
    return encoded
  }
}
