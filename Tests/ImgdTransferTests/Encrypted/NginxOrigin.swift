import Glibc
import ImgdTestSupport

/// A real server with TLS and HTTP/2: several loopback ports, each with a certificate.
///
/// It inherits its listening sockets as nginx does on an upgrade, so clients can connect at once.
final class NginxOrigin: Sendable {
  /// The ports, by the kind of certificate.
  enum Site: String, CaseIterable {
    case good, serial, forgetful, otherName, expired, selfSigned, oldProtocol
  }

  let certificates: TestCertificates
  private let directory: String
  private let ports: [Site: PassedListener]
  /// Takes connections, and says nothing.
  private let silent: PassedListener
  private let pid: pid_t

  init(bodies: [String: [UInt8]]) throws {
    directory = try TemporaryDirectory.make()
    certificates = try TestCertificates(in: directory)
    try certificates.sign("good", for: "IP:127.0.0.1,DNS:localhost")
    try certificates.sign("serial", for: "IP:127.0.0.1")
    try certificates.sign("forgetful", for: "IP:127.0.0.1")
    try certificates.sign("otherName", for: "DNS:other.example")
    try certificates.sign("expired", for: "IP:127.0.0.1", days: -1)
    try certificates.signByItself("selfSigned", for: "IP:127.0.0.1")
    try certificates.sign("oldProtocol", for: "IP:127.0.0.1")
    for (name, bytes) in bodies { try Self.write(bytes, to: "\(directory)/\(name)") }
    silent = try PassedListener()
    let sites = try Site.allCases.map { ($0, try PassedListener()) }
    ports = Dictionary(uniqueKeysWithValues: sites)
    try ImgdTestSupport.write(Self.configuration(directory, ports, silent), to: "\(directory)/nginx.conf")
    pid = try ChildProcess.spawn(
      "/usr/sbin/nginx", ["-p", directory, "-c", "\(directory)/nginx.conf", "-e", "stderr"],
      output: "\(directory)/output",
      environment: ["NGINX=" + sites.indices.map { "\(3 + $0);" }.joined()],
      descriptors: sites.map { $0.1.number })
  }

  deinit {
    kill(pid, SIGTERM)
    _ = ChildProcess.wait(pid)
    TemporaryDirectory.remove(directory)
  }

  func url(_ site: Site, _ path: String, host: String = "127.0.0.1") -> String {
    "https://\(host):\(ports[site]?.port ?? 0)\(path)"
  }

  private static func configuration(
    _ directory: String, _ ports: [Site: PassedListener], _ silent: PassedListener
  ) -> String {
    let servers = ports.map { site, port in
      """
      server {
        listen 127.0.0.1:\(port.port) ssl \(site == .serial ? "" : "http2");
        ssl_certificate \(site).pem;
        ssl_certificate_key \(site).key;
        ssl_protocols \(site == .oldProtocol ? "TLSv1.1" : "TLSv1.2 TLSv1.3");
        \(site == .forgetful ? "ssl_session_tickets off; ssl_session_cache none; keepalive_timeout 0;" : "")
        location / { root \(directory); add_header X-Protocol $server_protocol; }
        location /stalling/ { alias \(directory)/; limit_rate_after 60000; limit_rate 1; }
        location /protocol { return 200 $server_protocol/$connection; }
        location /session { return 200 $ssl_session_reused$connection; }
        location /silent { proxy_pass http://127.0.0.1:\(silent.port); }
        location /away { return 302 /protocol; }
      }
      """
    }
    return """
      daemon off;
      \(getuid() == 0 ? "user root;" : "")
      worker_processes 1;
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
}
