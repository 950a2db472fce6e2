/// Which entries of a tier go first when room is made.
package enum EvictionRule: String, Sendable, CaseIterable {
  /// Those that were not used for longest.
  case leastRecent = "least-recent"
  /// Those that nobody has asked for again, and only then those that were not used for longest: what
  /// is asked for once, however much it is, does not drive out what is asked for again and again.
  case scanResistant = "scan-resistant"
}
