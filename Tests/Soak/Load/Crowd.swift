import ImgdTestSupport

/// All clients, each on a thread of its own.
final class Crowd: Sendable {
  let witness: Witness
  private let state = Shared((isOver: false, present: 0))

  /// Fifty: most at the daemon's socket, some at the gateway, one at another host of the fleet, and the witness.
  init(in house: House, _ ledger: Ledger) {
    witness = Witness(in: house)
    for number in 0..<40 { admit { Visitor(number, in: house, ledger).stay(until: $0) } }
    for number in 0..<8 { admit { Browser(number, in: house, ledger).stay(until: $0) } }
    admit { Neighbour(in: house, ledger).stay(until: $0) }
    admit { [witness] in witness.stay(until: $0) }
  }

  /// Lets each finish what it has begun; false if one of them does not come to an end.
  func leave() -> Bool {
    state.with { $0.isOver = true }
    return state.wait { $0.present == 0 ? true : nil } ?? false
  }

  private func admit(_ stay: @escaping @Sendable (() -> Bool) -> Void) {
    state.with { $0.present += 1 }
    detachThread { [state] in
      stay { state.with { $0.isOver } }
      state.with { $0.present -= 1 }
    }
  }
}
