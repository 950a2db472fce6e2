import ImgdFleet
import Testing

struct FleetSettingsTests {
  @Test func aLookUpHasATimeLimitUnlessToldOtherwise() {
    #expect(FleetSettings(server: .tcp(host: "cache", port: 6379)).timeout > .zero)
  }
}
