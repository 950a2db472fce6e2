extension DiskWriter {
  /// Removes entries; files whose path was promised stay until the promise is over.
  func doom(
    _ numbers: [UInt32], leases: [UInt32: Int64], at wall: Int64
  ) throws(DiskTrouble) {
    var files: [DoomedFile] = []
    try commit { index throws(IndexProblem) in
      files = try index.doom(numbers) { leases[$0] ?? 0 }
    }
    try removeFiles(files.filter { $0.keepUntil <= wall })
  }

  /// Removes every entry.
  func doomAll(leases: [UInt32: Int64], at wall: Int64) throws(DiskTrouble) {
    try commit { index throws(IndexProblem) in
      _ = try index.doomAll(keepUntil: 0, except: leases)
    }
    try carryOut(at: wall)
  }

  /// Finds what matches, and removes it or marks it stale in the same commit.
  func purge(
    _ filter: IndexFilter, soft: Bool, leases: [UInt32: Int64]
  ) throws(DiskTrouble) -> [IndexMatch] {
    var matches: [IndexMatch] = []
    try commit { index throws(IndexProblem) in
      matches = try index.numbers(matching: filter)
      let numbers = matches.map(\.number)
      if soft {
        try index.markStale(numbers)
      } else {
        _ = try index.doom(numbers) { leases[$0] ?? 0 }
      }
    }
    return matches
  }

  /// Removes the files whose time has come; answers when the next one's comes.
  @discardableResult
  func carryOut(at wall: Int64) throws(DiskTrouble) -> Int64? {
    var files: [DoomedFile] = []
    try commit { index throws(IndexProblem) in files = try index.doomed() }
    try removeFiles(files.filter { $0.keepUntil <= wall })
    return files.lazy.map(\.keepUntil).filter { $0 > wall }.min()
  }

  /// A file that cannot be removed stays doomed, and is tried again at the next start.
  func removeFiles(_ files: [DoomedFile]) throws(DiskTrouble) {
    guard let directory, !files.isEmpty else { return }
    let gone = files.filter { doomed in
      guard let file = doomed.file else { return true }
      return (try? directory.remove(file)) != nil
    }
    try commit { index throws(IndexProblem) in try index.forget(gone.map(\.number)) }
  }
}
