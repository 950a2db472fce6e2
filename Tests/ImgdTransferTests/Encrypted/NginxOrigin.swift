import Glibc
import ImgdTestSupport

/// A real server with TLS and HTTP/2: one process on loopback ports, each with a certificate.
final class NginxOrigin: Sendable {
  /// What each port is there for.
  enum Site: String, CaseIterable {
    case good, otherName, expired, selfSigned, oldProtocol
  }

  let certificates: TestCertificates
  private let directory: String
  private let ports: [Site: ReservedPort]
  private let pid: pid_t

  init(bodies: [String: [UInt8]]) throws {
    directory = try TemporaryDirectory.make()
    certificates = try TestCertificates(in: directory)
    try certificates.sign("good", for: "IP:127.0.0.1,DNS:localhost")
    try certificates.sign("otherName", for: "DNS:other.example")
    try certificates.sign("expired", for: "IP:127.0.0.1", days: -1)
    try certificates.signByItself("selfSigned", for: "IP:127.0.0.1")
    try certificates.sign("oldProtocol", for: "IP:127.0.0.1")
    for (name, bytes) in bodies { try Self.write(bytes, to: "\(directory)/\(name)") }
    let sites = try Site.allCases.map { ($0, try ReservedPort()) }
    ports = Dictionary(uniqueKeysWithValues: sites)
    try ImgdTestSupport.write(Self.configuration(directory, ports), to: "\(directory)/nginx.conf")
    pid = try ChildProcess.spawn(
      "/usr/sbin/nginx", ["-p", directory, "-c", "\(directory)/nginx.conf", "-e", "stderr"],
      output: "\(directory)/output")
    try waitUntilItListens()
  }

  deinit {
    // A polite signal would not arrive: the thread that started it has them blocked, so it has too.
    kill(pid, SIGKILL)
    _ = ChildProcess.wait(pid)
    TemporaryDirectory.remove(directory)
  }

  func url(_ site: Site, _ path: String, host: String = "127.0.0.1") -> String {
    "https://\(host):\(ports[site]?.port ?? 0)\(path)"
  }

  private static func configuration(
    _ directory: String, _ ports: [Site: ReservedPort]
  ) -> String {
    let servers = ports.map { site, port in
      """
      server {
        listen 127.0.0.1:\(port.port) ssl http2 reuseport;
        ssl_certificate \(site).pem;
        ssl_certificate_key \(site).key;
        ssl_protocols \(site == .oldProtocol ? "TLSv1.1" : "TLSv1.2 TLSv1.3");
        location / { root \(directory); add_header X-Protocol $server_protocol; }
        location /stalling/ { alias \(directory)/; limit_rate_after 60000; limit_rate 1; }
        location /protocol { return 200 $server_protocol/$connection; }
        location /away { return 302 /protocol; }
      }
      """
    }
    return """
      daemon off;
      master_process off;
      pid \(directory)/nginx.pid;
      events { worker_connections 512; }
      http {
        access_log off;
        client_body_temp_path \(directory)/temp;
        proxy_temp_path \(directory)/temp;
        fastcgi_temp_path \(directory)/temp;
        uwsgi_temp_path \(directory)/temp;
        scgi_temp_path \(directory)/temp;
        \(servers.joined(separator: "\n"))
      }
      """
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "w") else { throw TestFailure("\(path): errno \(errno)") }
    fwrite(bytes, 1, bytes.count, file)
    fclose(file)
  }

  private func waitUntilItListens() throws {
    for _ in 0..<12_000 {
      if ports.values.allSatisfy({ Self.listens($0.port) }) { return }
      guard ChildProcess.isRunning(pid) else { break }
      poll(nil, 0, 5)  // a server offers nothing to wait on before it listens
    }
    throw TestFailure("nginx does not listen: \(read("\(directory)/output") ?? "")")
  }

  private static func listens(_ port: Int) -> Bool {
    let client = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    defer { close(client) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }
}
