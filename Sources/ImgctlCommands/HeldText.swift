import ImgdSystem

/// Why a fetch waits, in words for people.
enum HeldText {
  /// Nil for a reason that this release does not know.
  static func text(_ reason: String, wait: Duration?) -> String? {
    let time = wait.map { Quantity.time(roundedUp: $0) }
    return switch reason {
    case "asked": "asked to wait" + (time.map { ", \($0) left" } ?? "")
    case "rate": "held to its rate" + (time.map { ", the next one in \($0)" } ?? "")
    case "host_places": "after others from its host"
    case "slow_host": "its host is slow, others go first"
    case "places": "after others"
    case "offline": "no route leads there"
    default: nil
    }
  }
}
