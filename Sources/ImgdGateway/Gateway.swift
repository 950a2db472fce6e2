package import ImgdSystem

/// The composition of the gateway.
package final class Gateway {
  private let loop: EventLoop

  package init(_ configuration: GatewayConfiguration, on loop: EventLoop) {
    self.loop = loop
  }
}
