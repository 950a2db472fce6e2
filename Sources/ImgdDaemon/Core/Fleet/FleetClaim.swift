import ImgdSystem

/// This host's promise to fetch a picture: other hosts wait for it.
///
/// It ends once, with the picture or without.
final class FleetClaim {
  let serial: UInt64
  /// The transfer that brings the picture; nil as long as there is none.
  weak var download: MergedDownload? { didSet { downloadSerial = download?.serial } }
  private(set) var downloadSerial: UInt64?
  /// Runs out when the claim may have to be renewed.
  var renewal: Timer?
  private var seen = 0

  init(serial: UInt64) { self.serial = serial }

  /// Whether anything has come from the origin since this was last asked.
  func takeProgress() -> Bool {
    guard let download, download.state == .running, download.hasHeaders else { return false }
    let now = download.received + 1
    defer { seen = now }
    return now != seen
  }
}
