/// A private certificate authority, and certificates that it signs.
package struct TestCertificates {
  package let directory: String

  package var authority: String { directory + "/authority.pem" }

  package init(in directory: String) throws {
    self.directory = directory
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", "authority.key", "-out", "authority.pem", "-subj", "/CN=Test authority",
      "-days", "2")
  }

  /// Makes `name.pem` and `name.key` for the host, valid until `days` from now.
  package func sign(_ name: String, for host: String, days: Int = 2) throws {
    try request(name)
    try write("subjectAltName=\(host)\n", to: directory + "/\(name).ext")
    try openssl(
      "x509", "-req", "-in", "\(name).csr", "-CA", "authority.pem", "-CAkey", "authority.key",
      "-CAcreateserial", "-out", "\(name).pem", "-days", String(days), "-extfile", "\(name).ext")
  }

  /// Makes a self-signed `name.pem` and `name.key`.
  package func signByItself(_ name: String, for host: String) throws {
    try openssl(
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", "\(name).key", "-out", "\(name).pem", "-subj", "/CN=itself", "-addext",
      "subjectAltName=\(host)", "-days", "2")
  }

  private func request(_ name: String) throws {
    try openssl(
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
      "\(name).key", "-out", "\(name).csr", "-subj", "/CN=\(name)")
  }

  /// Runs openssl; file names are relative to the directory.
  private func openssl(_ arguments: String...) throws {
    let isFile = { (word: String) in
      [".pem", ".key", ".csr", ".ext"].contains { word.hasSuffix($0) }
    }
    let resolved = arguments.map { isFile($0) ? "\(directory)/\($0)" : $0 }
    let (code, output) = try ChildProcess.run("/usr/bin/openssl", resolved)
    guard code == 0 else { throw TestFailure("openssl \(arguments): \(output)") }
  }
}
