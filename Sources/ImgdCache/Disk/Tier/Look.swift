/// The outcome of a look: what was found at once, or that a callback will bring it later.
package enum Look<Found> {
  case now(Found)
  case later

  /// Passes what was found at once to a closure.
  package func passOn(to then: (Found) -> Void) { if case .now(let found) = self { then(found) } }

  /// The outcome with what was found at once converted by a closure.
  package func map<Other>(_ change: (Found) -> Other) -> Look<Other> {
    switch self {
    case .now(let found): .now(change(found))
    case .later: .later
    }
  }
}
