import ImgdSystem
import ImgdTransfer
import ImgdWire

/// What a fetch waits for, as far as its time is counted.
enum WaitingPhase {
  case disk
  case queue(running: Int, isHostHeld: Bool)
  case transfer(TransferPhase)
  case decode
  case fleet

  /// The name on the wire.
  private var name: String {
    switch self {
    case .disk: "disk"
    case .queue: "queue"
    case .transfer(let phase): phase.name
    case .decode: "decode"
    case .fleet: "fleet"
    }
  }

  /// The error of a fetch whose time has run out in this phase.
  func timeout(of host: String, after limit: Duration) -> WireError {
    WireError(
      .timeout, complaint(about: host, after: limit),
      details: ["phase": .string(name), "limit_ms": .integer(limit.milliseconds)])
  }

  private func complaint(about host: String, after limit: Duration) -> String {
    let time = DurationText.text(limit)
    return switch self {
    case .disk: "the disk of the cache did not answer within \(time)"
    case .queue(_, isHostHeld: true): "waited \(time) in the queue: \(host) has asked to be left alone for a while"
    case .queue(let running, _):
      "waited \(time) in the queue; \(running) \(running == 1 ? "download is" : "downloads are") running"
    case .transfer(let phase): phase.complaint(about: host, after: limit)
    case .decode: "the picture has come, but was not decoded within \(time)"
    case .fleet: "another host fetches the picture, but has not stored it within \(time)"
    }
  }
}
