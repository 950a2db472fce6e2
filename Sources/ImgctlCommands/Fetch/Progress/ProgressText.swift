import ImgdSystem

/// What people read about the transfers of a run.
struct ProgressText {
  let board: TransferBoard
  let rate: Int?
  let elapsed: Duration
  /// The moment that the text describes.
  let now: Instant

  /// A line for each transfer, as many as fit, and one about all.
  func block(_ size: TerminalSize) -> [String] {
    // The last column stays free: some terminals wrap a line that fills it.
    let width = max(1, size.columns - 1)
    let transfers = board.inOrder
    let room = max(0, size.rows - 2)
    let shown = transfers.prefix(transfers.count > room ? max(0, room - 1) : room)
    var lines = rows(Array(shown), width)
    if room > 0, shown.count < transfers.count { lines.append("… and \(transfers.count - shown.count) more") }
    return (lines + [total]).map { TextWidth.cut($0, to: width) }
  }

  /// The line where there is no terminal: about all transfers, and the first one under way.
  var line: String {
    guard let first = board.inOrder.first else { return total }
    return total + "; " + printable(withoutPasswords(first.subject)) + ": " + status(of: first)
  }

  private func rows(_ transfers: [TransferBoard.Transfer], _ width: Int) -> [String] {
    let statuses = transfers.map { printable(status(of: $0)) }
    let statusWidth = min(statuses.map { TextWidth.of($0) }.max() ?? 0, width / 2)
    let subjects = transfers.map {
      TextWidth.shortened(printable(withoutPasswords($0.subject)), to: width - statusWidth - 2)
    }
    let subjectWidth = subjects.map { TextWidth.of($0) }.max() ?? 0
    return zip(subjects, statuses).map { subject, status in TextWidth.padded(subject, to: subjectWidth + 2) + status }
  }

  private var total: String {
    var parts = [board.total.map { "\(board.done) of \($0) done" } ?? "\(board.done) done"]
    if board.failed > 0 { parts.append("\(board.failed) failed") }
    if board.received > 0 { parts.append(Quantity.size(board.received)) }
    if let rate, board.received > 0 { parts.append(Quantity.size(rate) + "/s") }
    if let left = timeLeft { parts.append(Self.clock(left) + " left") }
    return parts.joined(separator: ", ")
  }

  /// The seconds left, judged by the bytes still to come, or else by the number of pictures.
  private var timeLeft: Int? {
    if let remaining = board.remaining {
      guard let rate, rate > 0 else { return nil }
      return (remaining + rate - 1) / rate
    }
    // A few pictures that were already cached say nothing about the others.
    guard let total = board.total, board.done > board.open.count, total > board.done else { return nil }
    let seconds = Double(elapsed.milliseconds) / 1000
    return Int((seconds * Double(total - board.done) / Double(board.done)).rounded(.up))
  }

  /// `0:07`, `12:34` or `1:02:03`.
  static func clock(_ seconds: Int) -> String {
    let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60]
    let shown = parts[0] > 0 ? parts[...] : parts[1...]
    return shown.enumerated().map { place, part in place > 0 && part < 10 ? "0\(part)" : String(part) }.joined(
      separator: ":")
  }

  /// How far a transfer has got.
  private func status(of transfer: TransferBoard.Transfer) -> String {
    switch transfer.state {
    case .asked: return "asked for"
    case .queued:
      guard let end = board.holdEnd(of: transfer), end > now else { return "queued" }
      return "\(transfer.host) asked to wait, \(Quantity.time(roundedUp: end - now)) left"
    case .started: return "waiting for \(transfer.host)"
    case .preparing: return "being prepared"
    case .receiving:
      guard let expected = transfer.expected, expected > 0 else { return Quantity.size(transfer.received) }
      let percent = min(100, Int(Double(transfer.received) / Double(expected) * 100))
      return "\(percent)% of \(Quantity.size(expected))"
    }
  }
}
