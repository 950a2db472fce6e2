/// The parts of the process that commands reach.
struct Surroundings {
  /// Reads the configuration again.
  var reload: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void
  /// The source that reports memory pressure, and why no better one is used.
  var pressureSource: () -> (name: String, note: String?)
  /// Called for each command, and for news of the disk tier.
  var onActivity: () -> Void
  /// Where the fleet's server is; nil for a machine without a fleet.
  var fleetServer: String?
  var processFacts: () -> ProcessFacts
  var access: Access
}
