import ImgdConnection
import ImgdProgram
import ImgdSystem
import ImgdWire

/// What somebody who has started the gateway by hand is told: where it listens, what is open, and which daemon it has
/// found.
final class Greeting {
  private let configuration: GatewayConfiguration
  private let files: GatewayFiles
  private let daemon: () -> String
  private let link: DaemonLink

  init(_ commons: GatewayCommons, on loop: EventLoop) {
    configuration = commons.configuration
    files = commons.files
    daemon = commons.daemon
    link = DaemonLink(on: loop, path: commons.daemon)
  }

  /// Says each line, the one about the daemon when that has answered.
  func say(_ line: @escaping (String) -> Void) {
    line(place)
    line(pictures)
    line(page)
    let socket = daemon()
    link.ask(.hello, within: .seconds(2)) { line(Self.daemon(at: socket, PageReply.of($0))) }
  }

  private var place: String {
    switch configuration.listen {
    case .unix(let path): "listens on \(path), as in: curl --unix-socket \(path) http://localhost/health"
    case .port: "listens on http://\(configuration.listen.text)/"
    }
  }

  private var pictures: String {
    let hosts = configuration.allow
    let ways =
      (hosts.isEmpty ? [] : [hosts == ["*"] ? "every host" : "the hosts \(hosts.joined(separator: " "))"])
      + (files.keys.isEmpty ? [] : ["signed targets"])
    guard !ways.isEmpty else {
      return "no picture is open: name hosts, as in --set HTTP-Gateway.Allow=example.org, or keys of signatures "
        + "(HTTP-Gateway.KeyFile)"
    }
    let forms =
      configuration.onlyPresets ? ", in the forms \(configuration.presets.map(\.name).joined(separator: " "))" : ""
    return "pictures are open for \(ways.joined(separator: " and for "))\(forms)"
  }

  private var page: String {
    let viewers =
      switch configuration.page {
      case .all: "is open to all"
      case .local: "is open to browsers of this machine"
      case .no: "is closed"
      }
    return "the page of the cache \(viewers), and purges are \(files.token == nil ? "off" : "for who has the token")"
  }

  static func daemon(at socket: String, _ answer: Result<Reply, GatewayError>) -> String {
    switch answer {
    case .success(let reply): "has found imgd \(reply.text("version") ?? "") at \(socket)"
    case .failure:
      "no imgd answers at \(socket), and until one does neither do pictures: start it, or name another "
        + "socket with --socket"
    }
  }
}
