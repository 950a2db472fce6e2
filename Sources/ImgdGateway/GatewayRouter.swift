internal import ImgdSystem

/// Decides for each request who answers it, and admits those for pictures.
final class GatewayRouter {
  private let page: PageHandler
  private let pictures: PictureHandler
  private let access: PictureAccess
  private let addresses: AddressLimits
  private let trusted: [HTTPPeer]
  private let loop: EventLoop

  init(
    page: PageHandler, pictures: PictureHandler, access: PictureAccess, addresses: AddressLimits,
    trusting trusted: [HTTPPeer], on loop: EventLoop
  ) {
    self.page = page
    self.pictures = pictures
    self.access = access
    self.addresses = addresses
    self.trusted = trusted
    self.loop = loop
  }

  func route(_ exchange: any HTTPExchange) {
    do throws(GatewayError) {
      let client = client(of: exchange)
      let place = try client.map { client throws(GatewayError) in try addresses.begin(client, now: loop.now) }
      // Only when the answer has been sent, so that slow readers count.
      exchange.onEnd = { place?.giveBack() }
      if page.answer(exchange, share: client?.share) { return }
      guard let parsed = try PictureTarget.parse(exchange.target) else { throw Self.unknown }
      let request = try access.admit(parsed, now: Int(WallClock.seconds))
      pictures.fetch(request, for: exchange, share: client?.share)
    } catch { exchange.answer(ErrorAnswer(error).response()) }
  }

  /// The address by which the request is counted; nil for a program of this machine.
  private func client(of exchange: any HTTPExchange) -> AddressKey? {
    ForwardedAddress.client(of: exchange.fields("X-Forwarded-For"), peer: exchange.peer, trusting: trusted)
  }

  private static let unknown = GatewayError(
    404, "not_found", "there is nothing here: a picture is /fetch?url=https://… or /w:300/plain/https://…")
}
