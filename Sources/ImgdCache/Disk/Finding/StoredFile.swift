/// An image's file on disk, if it is still the same entry.
package final class StoredFile {
  let place: Int
  let number: UInt32
  /// Of the index that it is in: another one gives the same numbers to others.
  let generation: Int
  package let path: String
  /// How the daemon ends an answer that tells the path.
  private var ending: [UInt8]?

  init(place: Int, number: UInt32, generation: Int, path: String) {
    self.place = place
    self.number = number
    self.generation = generation
    self.path = path
  }

  /// The path is held twice.
  var cost: Int { 2 * path.utf8.count + 128 }

  /// The daemon's encoding of the path, made once.
  package func ending(orElse encode: (String) -> [UInt8]) -> [UInt8] {
    if let ending { return ending }
    let encoded = encode(path)
    ending = encoded
    return encoded
  }
}
