package import ImgdSystem

// What the memory tier leaves to the next process, and takes over from an earlier one.
extension MemoryTier {
  /// Gathers the pictures for the next process; nil when there are none.
  ///
  /// Only what is gathered as `isClean` will be taken over: gathering it is the last thing that a process
  /// does with its tier. For a snapshot nothing is copied, so it holds no small pictures.
  package func handover(within limits: HandoverLimits, isClean: Bool, release: String, at now: Instant, wall: Int64)
    throws(SystemFailure) -> Handover?
  {
    var draft = HandoverDraft(limits: limits, isClean: isClean)
    for place in images.newestFirst {
      let image = images.image(at: place)
      if isInForce(image) { try draft.add(image, at: now, wall: wall) }
    }
    return try draft.finish(release: release)
  }

  /// Takes in the pictures that an earlier process has left, and returns their number and their bytes.
  ///
  /// A picture whose bytes are missing is passed over, and so is one whose format the caller does not know.
  /// The bytes need not be compared with a checksum: the memfd that the index names was sealed before it was
  /// named. `taken` is called with each image that has got into the tier.
  package func takeOver(
    index: Payload, bodies: [Payload], release: String, at now: Instant, wall: Int64,
    isKnown: (ImageFacts) -> Bool = { _ in true }, taken: (CachedImage) -> Void = { _ in }
  ) throws(HandoverProblem) -> Removal {
    var inheritance = try HandoverInheritance(index, bodies, release: release)
    var found: [CachedImage] = []
    var room = limits.capacity
    // A picture that would be evicted at once is not even looked at.
    while let image = inheritance.next(most: { min(room, limits.maxEntry) }, wall: wall, at: now) {
      guard isKnown(image.facts), shouldCache(image) == nil, image.cost <= room else { continue }
      room -= image.cost
      found.append(image)
    }
    return takeOver(found, at: now, taken)
  }

  /// Adds the most recently used image last, which makes it the most recent one again.
  private func takeOver(_ images: [CachedImage], at now: Instant, _ tell: (CachedImage) -> Void) -> Removal {
    var taken = Removal()
    for image in images.reversed() {
      let used = image.lastAccess
      guard add(image, at: now).isStored else { continue }
      image.lastAccess = used
      taken.count(image.byteCount)
      tell(image)
    }
    return taken
  }
}
