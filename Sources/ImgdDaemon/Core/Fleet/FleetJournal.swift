import ImgdFleet

/// Writes a line for each change of the fleet's state. A server that is tried again changes nothing.
final class FleetJournal {
  private var told: FleetState?

  func note(_ state: FleetState) {
    guard state.phase != .connecting, state != told else { return }
    // Each try may fail in a way of its own.
    if state.phase == .down, told?.phase == .down { return }
    told = state
    let reason = state.reason.map { ": \($0)" } ?? ""
    switch state.phase {
    case .connecting: break
    case .ok: Log.notice(.fleet, "the fleet's server is used")
    case .readOnly: Log.warning(.fleet, "the fleet's server takes no pictures\(reason)")
    case .down:
      Log.warning(.fleet, "the fleet's server is not there: origins are asked\(reason)")
    case .refused: Log.error(.fleet, "the fleet's server is not used\(reason)")
    }
  }
}
