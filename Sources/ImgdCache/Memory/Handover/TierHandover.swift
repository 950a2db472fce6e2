package import ImgdSystem

// What the memory tier leaves to the next process, and takes over from an earlier one.
extension MemoryTier {
  /// Gathers what the next process is to have; nil when there is nothing.
  ///
  /// Only what is gathered as `isClean` will be taken over: it is the last thing that a process
  /// does with its tier. Nothing is copied for a snapshot, so that it holds no small ones.
  package func handover(
    within limits: HandoverLimits, isClean: Bool, release: String, at now: Instant, wall: Int64
  ) throws(SystemFailure) -> Handover? {
    var draft = HandoverDraft(limits: limits, isClean: isClean)
    for place in images.newestFirst {
      let image = images.image(at: place)
      if isInForce(image) { try draft.add(image, at: now, wall: wall) }
    }
    return try draft.finish(release: release)
  }

  /// Takes in what an earlier process has left; answers how many pictures and bytes these are.
  ///
  /// A picture whose bytes are not there is passed over, and so is one that the caller does not know.
  /// Nothing has to be compared to know that the bytes are the described ones: they are in the memfd
  /// that is named, which was sealed before it was. `taken` is told of each image that is in the tier now.
  package func takeOver(
    index: Payload, bodies: [Payload], release: String, at now: Instant, wall: Int64,
    isKnown: (ImageFacts) -> Bool = { _ in true }, taken: (CachedImage) -> Void = { _ in }
  ) throws(HandoverProblem) -> Removal {
    var inheritance = try HandoverInheritance(index, bodies, release: release)
    var found: [CachedImage] = []
    var room = limits.capacity
    // A picture that would have to go again is not even looked at.
    while let image = inheritance.next(most: { min(room, limits.maxEntry) }, wall: wall, at: now) {
      guard isKnown(image.facts), shouldCache(image) == nil, image.cost <= room else { continue }
      room -= image.cost
      found.append(image)
    }
    return takeOver(found, at: now, taken)
  }

  /// The one that was used last comes last, and so is the most recent one again.
  private func takeOver(
    _ images: [CachedImage], at now: Instant, _ tell: (CachedImage) -> Void
  ) -> Removal {
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
