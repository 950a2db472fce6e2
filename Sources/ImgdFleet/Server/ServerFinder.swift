internal import ImgdSystem

/// Finds out, for each attempt anew, where a server is and how to log in there.
final class ServerFinder {
  typealias Answer = Result<ServerAccess, FleetTrouble>

  private let server: FleetSettings.Server
  private let settings: FleetSettings
  private let question: SlowQuestion
  private let search: SentinelSearch?

  init(_ server: FleetSettings.Server, _ settings: FleetSettings, on loop: EventLoop, connect: @escaping Connect) {
    self.server = server
    self.settings = settings
    question = SlowQuestion(on: loop)
    search =
      if case .sentinel(let endpoints, let master) = server {
        SentinelSearch(endpoints, master: master, on: loop, connect: connect)
      } else { nil }
  }

  /// How long the Sentinels may take.
  var patience: Duration { search?.patience ?? .zero }

  /// `then` is called once, unless it is given up: at once where nothing has to be waited for.
  func find(then: @escaping (Answer) -> Void) {
    switch server {
    case .unix(let path): log(into: .unix(path: path), then)
    case .tcp(let host, let port, let isSecure):
      log(into: FleetSettings.Endpoint(host: host, port: port), tls: isSecure ? settings.tls : nil, then)
    case .sentinel: askSentinels(then)
    }
  }

  /// Asks the Sentinels again where the server is; `then` is called if it is elsewhere now.
  func findAgain(then: @escaping () -> Void) { search?.findAgain(then: then) }

  func giveUp() {
    question.giveUp()
    search?.giveUp()
  }

  private func askSentinels(_ then: @escaping (Answer) -> Void) {
    let settings = self.settings
    question.ask(isQuick: settings.passwordFile == nil) {
      Result { () throws(FleetTrouble) in try ServerLogin(settings) }
    } then: { [unowned self] login in
      switch login {
      case .failure(let trouble): then(.failure(trouble))
      case .success(let login):
        search?.find(login: login.command) { [unowned self] master in
          switch master {
          case .failure(let trouble): then(.failure(trouble))
          case .success(let master): log(into: master, tls: nil, then)
          }
        }
      }
    }
  }

  private func log(into place: ServerPlace, _ then: @escaping (Answer) -> Void) {
    let settings = self.settings
    question.ask(isQuick: settings.passwordFile == nil) {
      Result { () throws(FleetTrouble) in ServerAccess(place, try ServerLogin(settings)) }
    } then: {
      then($0)
    }
  }

  private func log(into endpoint: FleetSettings.Endpoint, tls: TLSSettings?, _ then: @escaping (Answer) -> Void) {
    let settings = self.settings
    question.ask(isQuick: settings.passwordFile == nil && ServerPlace.isAddress(endpoint.host)) {
      Result { () throws(FleetTrouble) in
        ServerAccess(try ServerPlace.find(endpoint, tls: tls), try ServerLogin(settings))
      }
    } then: {
      then($0)
    }
  }
}
