/// The outcome of one step of a removal.
enum RemovalProgress {
  case more, done
  /// The disk has refused; to be tried again when it works.
  case failed
}

/// One kind of thing that has to go from the disk, step by step.
protocol RemovalWork: AnyObject {
  /// Does so much that others need not wait long for the writer.
  func step(then: @escaping (RemovalProgress) -> Void)
}

/// The number of entries that one step removes.
enum RemovalStep {
  static let most = 64
}
