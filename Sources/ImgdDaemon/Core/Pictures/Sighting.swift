import ImgdCache

/// A picture that was found, and whether memory has it or the disk.
enum Sighting {
  case inMemory(CachedImage)
  case onDisk(CachedImage)

  var image: CachedImage {
    switch self {
    case .inMemory(let image), .onDisk(let image): image
    }
  }
}
