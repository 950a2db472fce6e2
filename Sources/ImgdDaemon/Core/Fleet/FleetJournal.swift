import ImgdFleet
import ImgdProgram

/// Writes a line for each change of the fleet's state. Trying a server again is no change.
final class FleetJournal {
  private var told: FleetState?

  func note(_ state: FleetState) {
    guard state.phase != .connecting, state != told else { return }
    // Each try may fail in a way of its own.
    if state.phase == .down, told?.phase == .down { return }
    told = state
    // The reason names the server.
    let reason = state.reason ?? "the fleet's server is \(state.phase.rawValue)"
    switch state.phase {
    case .connecting: break
    case .ok: Log.notice(.fleet, "the fleet's server is used")
    case .readOnly, .down: Log.warning(.fleet, reason)
    case .refused: Log.error(.fleet, reason)
    }
  }
}
