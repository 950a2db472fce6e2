import Glibc
import ImgdConnection
import ImgdSystem

/// The settings by which the daemon reaches origins, compared with those of this user's other programs.
struct NetworkCheck {
  /// The variables by which most programs find a proxy. imgd reads none of them.
  private static let variables = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]

  private let network: Reply
  private let environment: [String: String]

  init(_ answers: Interview.Answers, environment: [String: String]) {
    network = answers.config.object("config")?.object("Network") ?? answers.config
    self.environment = environment
  }

  var findings: [Finding] { [certificates, proxy].compactMap { $0 } }

  private var certificates: Finding? {
    guard let file = network.text("CAFile") else { return nil }
    // The path is a C string for the length of the call.
    guard unsafe access(file, R_OK) != 0 else { return .ok("certificates", file) }
    let failure = SystemFailure("access", file)
    if failure.errno == EACCES {
      return .note("certificates", "\(file) cannot be read by this user; imgd may be able to")
    }
    return .problem(
      "certificates", "no https origin can be verified: \(file): \(failure.reason)",
      remedy: "install ca-certificates, or set Network.CAFile in imgd.conf")
  }

  private var proxy: Finding? {
    guard let proxy = network.text("Proxy") else { return nil }
    let variable = Self.variables.first { !(environment[$0] ?? "").isEmpty }
    guard proxy == "none", let variable else {
      return .ok("proxy", proxy == "none" ? "none" : "all downloads go through \(proxy)")
    }
    return .note(
      "proxy", "imgd uses none, though $\(variable) is set here: it does not read this variable",
      remedy: "Network.Proxy=http://HOST:PORT in imgd.conf, if origins are reached that way alone")
  }
}
