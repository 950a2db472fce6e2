/// The parts of the process that commands reach.
struct Surroundings {
  /// Reads the configuration again.
  var reload: (_ answered: @escaping (ReloadAnswer) -> Void) -> Void
  /// The source that tells of memory pressure, and why it is not a better one.
  var pressureSource: () -> (name: String, note: String?)
  /// Told with each command.
  var onActivity: () -> Void
  /// Where the fleet's server is; nil for a machine alone.
  var fleetServer: String?
  var processFacts: () -> ProcessFacts
  var access: Access
}
