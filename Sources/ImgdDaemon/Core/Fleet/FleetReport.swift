import ImgdFleet
import ImgdPicture
import ImgdSystem

/// An event of the fleet on its way to the core, with the picture that its value was recognised as.
struct FleetReport: Sendable {
  let event: FleetEvent
  /// What the bytes were recognised as; nil unless the event brings a picture, and for bytes that
  /// are not a picture.
  let picture: PictureMeasures?

  /// Recognises the picture. Called on the fleet's loop, so that no hit is delayed.
  init(_ event: FleetEvent) {
    self.event = event
    picture =
      if case .looked(_, .found(let found)) = event {
        found.payload.withBytes { bytes in try? PictureProbe.recognise(bytes) }
      } else { nil }
  }
}
