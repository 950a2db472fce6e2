internal import ImgdConnection

/// The daemon at the other end, as `Imgd.hello` finds it.
public struct DaemonDescription: Sendable {
  /// The version of the protocol: 1.
  public let protocolVersion: Int
  /// The version of the daemon.
  public let version: String
  /// The names of its optional features.
  public let features: [String]
  /// A UUID that changes with every start of the daemon.
  public let instance: String
  /// The formats that its decoder can read, and those that it can write.
  public let decodes: [String]
  public let encodes: [String]
  /// The whole answer, with all limits, as JSON text.
  public let json: String

  init(_ reply: Reply) {
    protocolVersion = reply.number("protocol") ?? 0
    version = reply.text("version") ?? ""
    features = reply.texts("features") ?? []
    instance = reply.text("instance") ?? ""
    decodes = reply.object("decode")?.texts("decodes") ?? []
    encodes = reply.object("decode")?.texts("encodes") ?? []
    json = reply.json
  }
}
