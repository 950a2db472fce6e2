internal import ImgdSystem

/// That the file of an entry stays, whatever becomes of the entry.
struct Promise {
  /// In seconds since 1970.
  let end: Int64
  /// Where its entry was then.
  let place: Int
}

extension DiskTier {
  var leaseSeconds: Int64 { (limits.lease.nanoseconds + 999_999_999) / 1_000_000_000 }

  func promise(_ place: Int, until end: Int64) {
    index[place].leaseEnd = UInt32(clamping: end)
    promises[index[place].number] = Promise(end: Int64(index[place].leaseEnd), place: place)
    dropOldPromises()
  }

  /// Promises that are over are forgotten when the table has doubled since the last time, so that
  /// to look through it costs each promise little.
  private func dropOldPromises() {
    guard promises.count > max(1_024, 2 * promisesKept) else { return }
    let wall = self.wall
    promises = promises.filter { $0.value.end > wall }
    promisesKept = promises.count
  }

  /// All entries whose files have to stay for now, and until when.
  var currentLeases: [UInt32: Int64] {
    let wall = self.wall
    return promises.compactMapValues { $0.end > wall ? $0.end : nil }
  }

  func leases(of numbers: [UInt32]) -> [UInt32: Int64] {
    let wall = self.wall
    var leases: [UInt32: Int64] = [:]
    for number in numbers {
      if let promise = promises[number], promise.end > wall { leases[number] = promise.end }
    }
    return leases
  }

  /// Bytes of files that have been promised to stay.
  package var lentBytes: Int {
    let wall = self.wall
    return promises.reduce(0) { sum, promise in
      guard promise.value.end > wall,
        let entry = index.entry(at: promise.value.place, number: promise.key)
      else { return sum }
      return sum + Int(entry.bytes)
    }
  }
}
