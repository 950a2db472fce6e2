import ImgdCache

/// What a look has found; or it will be told, by a call to the one who looks.
enum Look<Found> {
  case now(Found)
  case later

  /// Hands on what was found at once.
  func tell(_ then: (Found) -> Void) {
    if case .now(let found) = self { then(found) }
  }
}

extension DiskFetching {
  /// The image, or nil where the disk has none.
  var look: Look<CachedImage?> {
    switch self {
    case .nothing: .now(nil)
    case .image(let image): .now(image)
    case .later: .later
    }
  }
}

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
