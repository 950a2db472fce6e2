@testable import ImgdGateway

/// The request of a target that is one of a picture, with every host open.
func picture(_ target: String, presets: [Preset] = []) throws(GatewayError) -> PictureRequest? {
  let access = PictureAccess(allow: ["*"], keys: .none, presets: presets, onlyPresets: false)
  guard let parsed = try PictureTarget.parse(target) else { return nil }
  return try access.admit(parsed, now: 0)
}

/// The refusal of a target; nil if it was taken, or is not one of a picture.
func refusal(of target: String, presets: [Preset] = []) -> GatewayError? {
  do throws(GatewayError) {
    _ = try picture(target, presets: presets)
    return nil
  } catch {
    return error
  }
}

/// A request for the cat of the tests.
func cat(_ change: (inout PictureRequest) -> Void = { _ in }) -> PictureRequest {
  var request = PictureRequest(url: "https://pictures.example/cat.jpg")
  change(&request)
  return request
}
