import ImgdTestSupport

/// A daemon with a gateway before it, and an origin.
final class GatewayStage {
  let stage: Stage
  let gateway: GatewayProcess

  init(_ settings: [String] = ["Allow=127.0.0.1"], daemon: String...) throws {
    stage = try Stage(configuration: daemon.isEmpty ? nil : daemon.joined(separator: "\n"))
    gateway = try GatewayProcess(before: stage.daemon.socket, settings)
  }

  var origin: OriginServer { stage.origin }

  func url(_ path: String) -> String { stage.origin.url(path) }
}
