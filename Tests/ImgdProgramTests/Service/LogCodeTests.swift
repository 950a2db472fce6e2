import ImgdTestSupport
import Testing

@testable import ImgdProgram

/// The field by which failures and refusals are found in the journal: no error and no warning compiles without one.
struct LogCodeTests {
  @Test func `every code is explained in imgd(8), and no other`() throws {
    let page = try #require(read("docs/man/imgd.8"))
    let rest = try #require(page.split(separator: ".Bl -tag -width disk_unavailable\n").last)
    let list = try #require(rest.split(separator: "\n.El").first)
    let listed = list.split(separator: "\n").filter { $0.hasPrefix(".It Li ") }.map { String($0.dropFirst(7)) }
    #expect(listed == Log.Code.allCases.map(\.rawValue).sorted())
  }

  @Test func `an entry has its subject and its code`() {
    let entry = LogEntry(.error, .disk, "no", [.code(.diskTrouble), .bytes(7)])
    let fields = entry.fields.map { "\($0.name)=\($0.value)" }
    #expect(fields == ["IMGD_EVENT=disk", "IMGD_CODE=disk_trouble", "IMGD_BYTES=7"])
    #expect(entry.json(at: 0).contains(#""event":"disk","code":"disk_trouble""#))
  }
}
