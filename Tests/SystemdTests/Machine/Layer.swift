import Glibc
import ImgdTestSupport

/// Files that a machine has over those of this one.
///
/// What many machines need is made once: to install imgd in each of them would take longer than
/// most tests do.
final class Layer: Sendable {
  private let place = TemporaryDirectory()

  /// What `boot` copies.
  var files: String { place.path + "/files" }

  /// These texts, by the path that they have inside.
  init(of texts: [String: String]) throws {
    try makeDirectories(above: files + "/")
    for (path, text) in texts {
      try makeDirectories(above: files + path)
      try write(text, to: files + path)
    }
  }

  /// What a command line changes, run as root of a copy of this machine's files.
  private init(changedBy line: String) throws {
    let script = Project.path("Tests/SystemdTests/make-layer")
    let (code, output) = try ChildProcess.run(script, [place.path, "sh", "-c", line])
    guard code == 0 else { throw TestFailure("\(line): exit code \(code): \(output)") }
  }

  // MARK: Shared ones

  /// imgd as `make install` leaves it on a machine whose systemd starts later.
  static var imgd: Layer { get throws { try installed.get() } }

  private static let installed = Result {
    guard access(Project.path(".build/release/imgd"), X_OK) == 0 else {
      throw TestFailure("no .build/release/imgd: `make test-service` builds it first")
    }
    // What an imgd of this machine has left is in the copy as well.
    return try Layer(
      changedBy:
        "rm -rf /var/cache/imgd /etc/imgd; make --silent --directory=\(Project.root) install")
  }

  /// Debian packages of two versions of imgd, each in a directory of /srv/packages.
  static var packages: Layer { get throws { try packed.get() } }

  private static let packed = Result {
    // The user that makes the packages is neither root nor the owner of the tree. They are for
    // tests alone: how small they are does not matter.
    try Layer(
      changedBy: """
        set -e
        cd \(Project.root)
        export DPKG_DEB_COMPRESSOR_TYPE=none
        install -d -o nobody /srv/packages
        for version in 0.0.1 0.0.2; do
          setpriv --reuid=nobody --regid=nogroup --clear-groups \
            --inh-caps=+dac_read_search --ambient-caps=+dac_read_search \
            debian/pack /srv/packages/$version $version
        done
        """)
  }

  /// The packages of a newer systemd, unpacked.
  static var newerSystemd: Layer { get throws { try unpacked.get() } }

  private static let unpacked = Result {
    try Layer(
      changedBy: """
        set -e
        for package in \(NewerSystemd.packages)/*.deb; do
          dpkg-deb --fsys-tarfile $package | tar -x -C / --keep-directory-symlink
        done
        """)
  }
}

/// Makes the directories that a file needs.
func makeDirectories(above path: String) throws {
  let directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  if access(directory, F_OK) == 0 { return }
  try makeDirectories(above: directory)
  guard mkdir(directory, 0o755) == 0 else { throw TestFailure("\(directory): errno \(errno)") }
}
