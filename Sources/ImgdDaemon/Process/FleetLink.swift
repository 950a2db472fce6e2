import ImgdFleet
import ImgdSystem

/// The thread that speaks to the fleet's server, and the settings that only a restart changes.
final class FleetLink {
  let engine: FleetEngine
  private var settings: FleetSettings

  /// Nil for a machine without a fleet. The engine's reports arrive on the loop, their pictures already recognised.
  init?(_ fleet: Configuration.Fleet, on loop: EventLoop, receive: @escaping (FleetReport) -> Void)
    throws(SystemFailure)
  {
    guard let settings = FleetSettings(fleet) else { return nil }
    self.settings = settings
    let mailbox = try loop.makeMailbox(receive)
    engine = try FleetEngine.start(settings: settings) { event in mailbox.post(FleetReport(event)) }
  }

  /// Applies other settings; another server, user, password file or namespace waits for a restart.
  func apply(_ fleet: Configuration.Fleet) {
    settings.adopt(fleet)
    engine.apply(settings)
  }
}

extension FleetEngine: Fleet {}
