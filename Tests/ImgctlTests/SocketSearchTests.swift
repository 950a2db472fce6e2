import Testing

@testable import ImgdConnection

struct SocketSearchTests {
  private let runtime = ["XDG_RUNTIME_DIR": "/run/user/7"]

  private func path(
    named: String? = nil, _ environment: [String: String], userSocketExists: Bool
  ) -> String {
    SocketSearch.path(named: named, environment: environment, uid: 7) { path in
      userSocketExists && path == "/run/user/7/imgd/imgd.sock"
    }
  }

  @Test func `the named socket is tried first`() {
    let environment = runtime.merging(["IMGD_SOCKET": "/e"]) { $1 }
    #expect(path(named: "/n", environment, userSocketExists: true) == "/n")
    #expect(path(environment, userSocketExists: true) == "/e")
  }

  @Test func `the user's own socket is tried before the machine's`() {
    #expect(path(runtime, userSocketExists: true) == "/run/user/7/imgd/imgd.sock")
    #expect(path([:], userSocketExists: true) == "/run/user/7/imgd/imgd.sock")
    #expect(path(runtime, userSocketExists: false) == "/run/imgd/imgd.sock")
  }

  @Test func `an empty variable is ignored`() {
    #expect(path(["IMGD_SOCKET": ""], userSocketExists: false) == "/run/imgd/imgd.sock")
  }
}
