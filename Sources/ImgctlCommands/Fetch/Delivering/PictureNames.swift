/// Gives each URL of a run a file name of its own, without extension: the second `a` becomes `a-2`.
struct PictureNames {
  /// The hashes of the names given out, since a list may have millions. A name with the hash of another gets a number.
  private var taken: Set<Int> = []
  private var numbers: [Int: Int] = [:]

  /// The next name for a URL.
  mutating func name(for url: String) -> String {
    let wanted = PictureName.stem(of: url)
    var name = wanted
    while !taken.insert(name.hashValue).inserted {
      // Counting continues where it stopped, so a thousand equal names need a thousand steps.
      let number = numbers[wanted.hashValue, default: 1] + 1
      numbers[wanted.hashValue] = number
      name = "\(wanted)-\(number)"
    }
    return name
  }
}
