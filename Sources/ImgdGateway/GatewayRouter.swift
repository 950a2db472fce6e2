internal import ImgdSystem

/// Decides for each request who answers it, and admits those for pictures.
struct GatewayRouter {
  let page: PageHandler
  let pictures: PictureHandler
  let access: PictureAccess
  let addresses: AddressLimits
  /// Peers whose `X-Forwarded-For` is believed.
  let trusted: [HTTPPeer.Kind]
  let loop: EventLoop

  func route(_ exchange: any HTTPExchange) {
    do throws(GatewayError) {
      // The address by which the request is counted; nil for a program of this machine.
      let client = ForwardedAddress.client(
        of: exchange.fields("X-Forwarded-For"), peer: exchange.peer, trusting: trusted)
      exchange.notes.client = client
      let place = try client.map { client throws(GatewayError) in try addresses.begin(client, now: loop.now) }
      // Only when the answer has been sent, so that slow readers count.
      exchange.onEnd = { place?.giveBack() }
      if page.answer(exchange, share: client?.share) || pictures.answerHeld(exchange) { return }
      guard let parsed = try PictureTarget.parse(exchange.target) else {
        throw GatewayError(
          404, "not_found", "there is nothing here: a picture is /fetch?url=https://… or /w:300/plain/https://…")
      }
      if pictures.answerPreflight(exchange) { return }
      let request = try access.admit(parsed, now: Int(WallClock.seconds))
      pictures.fetch(request, for: exchange, share: client?.share)
    } catch {
      guard !page.owns(exchange.target) else { return exchange.answer(ErrorAnswer(error).response()) }
      pictures.refuse(exchange, error)
    }
  }
}
