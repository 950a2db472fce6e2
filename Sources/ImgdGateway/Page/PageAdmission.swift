/// The rule by which requests for the page are carried out or refused.
struct PageAdmission {
  let access: GatewayConfiguration.PageAccess
  /// Without a token nothing is purged.
  let token: PurgeToken?

  /// Throws the reason why a request is not carried out.
  func check(_ route: PageRoute, _ exchange: any HTTPExchange) throws(GatewayError) {
    if route != .health { try checkVisitor(exchange) }
    guard route.takes(exchange.method) else {
      throw GatewayError(405, "method_not_allowed", "\(route.rawValue) takes \(route.methods) and nothing else")
    }
    guard !route.isForThisSiteAlone || LocalRequest.isOfThisSite(exchange) else {
      throw GatewayError(
        403, "not_allowed", "another site has sent this request, and \(route.rawValue) is for the page")
    }
    if route == .purge { try checkToken(exchange) }
  }

  private func checkVisitor(_ exchange: any HTTPExchange) throws(GatewayError) {
    switch access {
    case .all: return
    case .local where LocalRequest.isLocal(exchange): return
    case .local:
      throw GatewayError(
        404, "not_found", "the page is for requests to localhost that no proxy has forwarded: see Page= in imgd.conf(5)"
      )
    case .no: throw GatewayError(404, "not_found", "there is no page here: see Page= in imgd.conf(5)")
    }
  }

  private func checkToken(_ exchange: any HTTPExchange) throws(GatewayError) {
    guard let token else {
      throw GatewayError(403, "not_allowed", "nothing is purged over HTTP: see TokenFile= in imgd.conf(5)")
    }
    guard token.isIn(exchange.fields("Authorization")) else {
      throw GatewayError(403, "not_allowed", "a purge needs Authorization: Bearer, and the token of TokenFile=")
    }
  }
}
