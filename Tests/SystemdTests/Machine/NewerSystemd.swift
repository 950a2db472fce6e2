import ImgdTestSupport
import Testing

/// The systemd that Debian has for this release besides its own.
enum NewerSystemd {
  private static let directory = Project.path(".build/newer-systemd")

  /// Why it is not to be had; nil when its packages are there.
  static let obstacle: String? = {
    do {
      let script = Project.path("Tests/SystemdTests/fetch-newer-systemd")
      let (code, output) = try ChildProcess.run(script, [directory])
      return code == 0 ? nil : output
    } catch {
      return "\(error)"
    }
  }()

  /// Its packages.
  static let packages = directory
}

extension Trait where Self == ConditionTrait {
  /// Skipped, with the reason, where there is no newer systemd than this machine's.
  static var newerSystemd: Self {
    .enabled(if: NewerSystemd.obstacle == nil, Comment(rawValue: NewerSystemd.obstacle ?? ""))
  }
}
