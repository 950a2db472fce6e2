import ImgdCache

/// A picture that was found, and whether memory or the disk has it.
enum Sighting {
  case inMemory(CachedImage)
  case onDisk(CachedImage)

  var image: CachedImage {
    switch self {
    case .inMemory(let image), .onDisk(let image): image
    }
  }
}
