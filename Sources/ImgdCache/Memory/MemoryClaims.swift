// Whose images are.

extension MemoryTier {
  /// Changes who has claims on an image.
  package func set(_ claims: EntryClaims, of image: CachedImage) -> Removal {
    if let place = image.place, let owner = claims.owner, owner != image.owner {
      images.assign(place, to: owner)
    }
    (image.owner, image.tags) = (claims.owner, claims.tags)
    return recount(image)
  }

  /// What a user has here.
  package func holding(of uid: UInt32) -> Removal { images.accounts.holding(of: uid) }

  /// Takes out an image, and makes void what is being made of it.
  package func removeForGood(_ image: CachedImage) {
    image.isPurged = true
    if let place = image.place { images.takeImage(at: place) }
  }
}
