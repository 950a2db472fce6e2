/// What a look has found; or it will be told, by a call to the one who looks.
package enum Look<Found> {
  case now(Found)
  case later

  /// Passes on what was found at once.
  package func passOn(to then: (Found) -> Void) {
    if case .now(let found) = self { then(found) }
  }

  /// The same look for what is made of the answer.
  package func map<Other>(_ change: (Found) -> Other) -> Look<Other> {
    switch self {
    case .now(let found): .now(change(found))
    case .later: .later
    }
  }
}
