internal import ImgdSystem

extension DiskTier {
  static let firstRetryPause = Duration.seconds(1)
  private static let longestRetryPause = Duration.seconds(60)

  /// Something could not be done: what is broken is opened anew, at once or later.
  func fail(_ trouble: DiskTrouble) {
    onNews(.trouble(trouble.reason))
    switch trouble.kind {
    case .gone where directory != nil: reopen()
    case .indexLost where directory != nil: reopen(settingIndexAside: true)
    case .full, .readOnly, .broken, .gone, .indexLost:
      state = directory == nil ? .off : .readOnly
      isFull = trouble.kind == .full
      refuseStores(directory == nil ? .off : isFull ? .full : .readOnly)
      retryLater()
    }
  }

  func retryLater() {
    guard !isRetrying else { return }
    isRetrying = true
    loop.schedule(after: retryPause) { [unowned self] in
      isRetrying = false
      retry()
    }
    retryPause = min(retryPause * 2, Self.longestRetryPause)
  }

  private func retry() {
    guard directory != nil else { return reopen() }
    order(
      { (writer) throws(DiskTrouble) in try writer.probe() },
      then: { [unowned self] answer in
        guard answer != nil else { return }
        retryPause = Self.firstRetryPause
        if state == .readOnly { onNews(.recovered) }
        state = .ok
      })
  }
}
