import ImgdTestSupport
import Testing

/// The units as systemd sees them.
@Suite(.machine) struct UnitTests {
  @Test func `systemd-analyze has no complaint about the units`() throws {
    let stage = try ServiceStage()
    let said = try stage.machine.perform(
      "systemd-analyze verify imgd.service imgd.socket imgd-http.service imgd-http.socket")
    #expect(said == "")
  }

  /// The daemon has netlink besides, which says whether there is a network.
  @Test(arguments: [("imgd.service", 16), ("imgd-http.service", 15)])
  func `the service is shut off from what it does not need`(service: String, exposure: Int) throws {
    let stage = try ServiceStage()
    let said = try stage.machine.perform("systemd-analyze security \(service) --threshold=\(exposure)")
    #expect(said.contains("Overall exposure level for \(service): "))
  }
}
