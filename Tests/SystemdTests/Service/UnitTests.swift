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

  @Test(arguments: ["imgd.service", "imgd-http.service"])
  func `the service is shut off from what it does not need`(service: String) throws {
    let stage = try ServiceStage()
    let said = try stage.machine.perform("systemd-analyze security \(service) --threshold=15")
    #expect(said.contains("Overall exposure level for \(service): "))
  }
}
