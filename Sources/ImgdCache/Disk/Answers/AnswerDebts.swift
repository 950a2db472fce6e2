/// Rows of remembered answers that have to go and are still there: the index could not be told.
///
/// They go with whatever is next committed. So a purge that has been written down is never without the
/// removals that were asked for before it.
final class AnswerDebts {
  /// More than so many mean all rows.
  private static let most = 16_384

  private var digests: Set<KeyDigest> = []
  /// Every row has to go.
  private(set) var takesAll = false

  var isEmpty: Bool { digests.isEmpty && !takesAll }

  func add(_ more: some Sequence<KeyDigest>) {
    guard !takesAll else { return }
    digests.formUnion(more)
    if digests.count > Self.most { addAll() }
  }

  /// Adds all rows that changes are about: what is replaced must not come back.
  func add(_ changes: AnswerChanges) {
    if changes.takesAll { addAll() }
    add(changes.byDigest.keys)
  }

  func addAll() {
    takesAll = true
    digests = []
  }

  func contains(_ digest: KeyDigest) -> Bool { takesAll || digests.contains(digest) }

  /// Removes the rows, within a transaction that may still be undone.
  func pay(in index: IndexFile) throws(IndexProblem) {
    if takesAll { try index.answers.removeAll() }
    for digest in digests { try index.answers.remove(digest.bytes) }
  }

  /// Notes that the transaction was committed.
  func settle() {
    guard !isEmpty else { return }
    (digests, takesAll) = ([], false)
  }
}
