import ImgdGateway
import Testing

struct GatewayConfigurationTests {
  @Test func nothingIsOpenByDefault() {
    let configuration = GatewayConfiguration()
    #expect(configuration.allow.isEmpty && configuration.keyFile.isEmpty)
    #expect(configuration.tokenFile.isEmpty && configuration.page == .local)
  }
}
