import ImgdTransfer
import Testing

@testable import ImgdDaemon
@testable import ImgdTransfer

/// What the transfer engine gets of the configuration.
struct TransferSettingsTests {
  @Test func `the engine has the limits, the proxy and the addresses of the configuration`() {
    var configuration = Configuration()
    configuration.downloads.connectTimeout = .milliseconds(200)
    configuration.downloads.idleTimeout = .seconds(3)
    configuration.downloads.retries = 7
    configuration.downloads.maxActive = 40
    configuration.network.caFile = "/etc/ssl/other.crt"
    configuration.network.privateAddresses = .deny
    configuration.network.allow = ["10.0.0.0/8"]
    configuration.network.deny = ["192.0.2.0/24"]
    let settings = TransferSettings(configuration)
    #expect(settings.connectTimeout == .milliseconds(200))
    #expect(settings.idleTimeout == .seconds(3))
    #expect(settings.retries == 7)
    #expect(settings.maxConnections == 80)
    #expect(settings.caFile == "/etc/ssl/other.crt")
    #expect(
      settings.addressRule
        == AddressRule(
          mode: .deny, allow: ["10.0.0.0/8"].compactMap(AddressRange.init),
          deny: ["192.0.2.0/24"].compactMap(AddressRange.init)))
  }

  @Test func `a request names the daemon, and the formats that it accepts before all others`() {
    var configuration = Configuration()
    configuration.downloads.userAgent = "another/1"
    configuration.downloads.acceptTypes = [.webp, .png, .svg]
    #expect(
      TransferSettings(configuration).ownFields.fields == [
        HeaderField("User-Agent", "another/1"),
        HeaderField("Accept", "image/webp,image/png,image/svg+xml,*/*;q=0.1"),
      ])
    let usual = TransferSettings(Configuration()).ownFields.fields.map(\.value)
    #expect(usual.first?.hasPrefix("imgd/") == true && usual.last?.contains("svg") == false)
  }
}
