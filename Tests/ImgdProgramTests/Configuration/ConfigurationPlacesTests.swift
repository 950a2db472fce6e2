import ImgdSystem
import Testing

@testable import ImgdProgram

struct ConfigurationPlacesTests {
  private func read(
    _ settings: [String] = [], environment: [String: String] = [:]
  ) throws -> Sample {
    let places = ConfigurationPlaces(
      named: nil, usual: "/nonexistent/f", environment: environment,
      settings: try settings.map { try CommandLineSetting($0, for: Sample.self) })
    return try places.read(over: Sample()) { _ in }
  }

  private func problems(
    _ settings: [String] = [], environment: [String: String] = [:]
  ) throws -> [String] {
    do {
      _ = try read(settings, environment: environment)
      return []
    } catch let problems as ConfigurationProblems { return problems.lines }
  }

  @Test func `the command line overrides a variable, and its long form the short one`() throws {
    #expect(try read(environment: ["SHORT": "20"]).capacity == 20)
    let both = ["SHORT": "20", "IMGD_MEMORY_CAPACITY": "30"]
    #expect(try read(environment: both).capacity == 30)
    #expect(try read(["Memory.Capacity=40"], environment: both).capacity == 40)
  }

  @Test(arguments: [
    "IMGD_HTTP_GATEWAY_NAME", "IMGD_HTTP_GATEWAY_", "IMGD_FLEET_TTL", "IMGD_MEMORY", "IMGD_HTTP",
  ])
  func `a variable for a section of another program is skipped`(variable: String) throws {
    #expect(try read(environment: [variable: "nonsense"]) == Sample())
  }

  @Test func `a section with a blank in its variable does not take those of a longer name`() throws {
    #expect(
      try problems(environment: ["IMGD_HTTP_GATEWAYS": ""])
        == ["IMGD_HTTP_GATEWAYS: HTTP.GATEWAYS is not a key: [HTTP] has Name"])
  }

  @Test func `an option for another program is refused with the name of that program`() throws {
    #expect(
      try problems(["HTTP-Gateway.Allow=*", "Fleet.TTL=1d"]) == [
        "--set: [HTTP-Gateway] is a section of imgd-http",
        "--set: [Fleet] is a section of imgd",
      ])
  }

  @Test func `a contradiction names the place that has set the key`() throws {
    #expect(try problems(["Memory.Limit=200"]) == ["--set: too much"])
    #expect(try problems(["Memory.Capacity=1"]) == ["defaults: too much"])
  }

  @Test func `what is printed is read back equal`() throws {
    var sample = Sample()
    sample.limit = 7
    let file = ConfigurationFile(
      path: "f", bytes: Array(sample.printed().utf8), sections: Sample.sections, example: .memory)
    #expect(file.problems == [] && file.assignments.map(\.value) == ["100", "7", "/a"])
    #expect(
      Sample().changes(to: sample) == [ConfigurationChange(key: "Memory.Limit", isLive: false)])
    #expect(sample.printed().contains("# At most. A new value needs a restart.\nLimit=7\n"))
  }
}
