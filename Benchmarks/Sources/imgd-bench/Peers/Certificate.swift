/// A temporary certificate authority and its certificate for 127.0.0.1, made with openssl.
enum Certificate {
  /// Makes `server.pem` and `server.key` in a directory; returns the path of the authority's certificate.
  static func make(in home: String) throws(BenchFailure) -> String {
    guard Child.exists("openssl") else { throw .unavailable("openssl is missing") }
    let authority = home + "/authority.pem"
    let names = home + "/names"
    try File.write(Array("subjectAltName=IP:127.0.0.1\n".utf8), to: names)
    try openssl(
      home,
      "req -x509 -nodes -days 2 -subj /CN=bench-authority -keyout \(home)/authority.key"
        + " -out \(authority)", key: true)
    try openssl(
      home, "req -nodes -subj /CN=127.0.0.1 -keyout \(home)/server.key -out \(home)/server.csr",
      key: true)
    try openssl(
      home,
      "x509 -req -days 2 -in \(home)/server.csr -CA \(authority) -CAkey"
        + " \(home)/authority.key -CAcreateserial -extfile \(names) -out \(home)/server.pem")
    return authority
  }

  private static func openssl(
    _ home: String, _ words: String, key: Bool = false
  ) throws(BenchFailure) {
    let elliptic = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    let words = words.split(separator: " ").map(String.init) + (key ? elliptic : [])
    try Child.finish(["openssl"] + words, log: home + "/openssl.log")
  }
}
