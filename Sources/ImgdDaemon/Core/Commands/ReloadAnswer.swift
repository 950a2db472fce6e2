/// How a reload of the configuration went.
enum ReloadAnswer {
  case changed([String])
  /// What cannot change while the daemon runs, and waits for a restart.
  case changedButFor([String], waiting: [String])
  /// All that is wrong, in one line: so it goes to clients and into the status.
  case refused(String)
  /// The daemon stops, and has not read it.
  case stopping

  /// Why nothing has changed; nil when the configuration was good.
  var refusal: String? {
    if case .refused(let reason) = self { reason } else { nil }
  }

  var isGood: Bool { refusal == nil }
}
