import ImgdCache

extension PictureTiers {
  /// Promises a path to a picture's file, now or, where the disk is still busy with it, later.
  func lendFile(of image: CachedImage, mayStore: Bool, countsAsUse: Bool, then: @escaping (PictureLine.Path) -> Void) {
    let lending = disk.lend(image, mayStore: mayStore, countsAsUse: countsAsUse)
    guard lending == .waiting else { return then(PictureLine.Path(lending, of: image)) }
    // By then it may have been stored, but not verified yet.
    disk.whenSettled(image) { [unowned self] in
      lendFile(of: image, mayStore: mayStore, countsAsUse: countsAsUse, then: then)
    }
  }
}
