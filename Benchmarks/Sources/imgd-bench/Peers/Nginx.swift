private import CBench
import Glibc

/// An nginx as the origin of cold fetches, and as a peer that sends pictures over a Unix socket.
///
/// `/` serves the directory, `/counted/` also logs each request, `/slow/` sends 16 kB/s, `/hop1` leads over
/// three redirects to `/a.png`; over TLS every request is counted and gets its own connection.
struct Nginx {
  let child: Child
  let socket: String
  let directory: String
  let authority: String
  private let port: CInt
  private let tlsPort: CInt
  private let log: String

  init(_ bench: Bench, place: Place = .server, scheduling: [String] = []) throws(BenchFailure) {
    guard Child.exists("nginx") else { throw .unavailable("nginx is missing") }
    socket = bench.path("nginx")
    directory = try bench.directory("pictures")
    log = bench.path("access.log")
    port = bench_free_port()
    tlsPort = bench_free_port()
    let home = try bench.directory("nginx-home")
    authority = try Certificate.make(in: home)
    let configuration = home + "/nginx.conf"
    try File.write(
      Array(
        Self.configuration(
          home: home, directory: directory, log: log, socket: socket, port: port,
          tlsPort: tlsPort
        ).utf8), to: configuration)
    child = try bench.serve(
      scheduling + ["nginx", "-c", configuration, "-p", home, "-e", home + "/error.log"],
      "nginx", place: place)
    try child.awaitReady("nginx") { [socket] in isListening(socket) }
  }

  var address: String { "127.0.0.1:\(port)" }

  func url(_ path: String) -> String { "http://\(address)/\(path)" }

  func secureURL(_ path: String) -> String { "https://127.0.0.1:\(tlsPort)/\(path)" }

  func add(_ picture: [UInt8], as name: String) throws(BenchFailure) {
    try File.write(picture, to: "\(directory)/\(name)")
  }

  /// Adds different pictures; their URLs have the same length.
  func addPictures(_ count: Int, bytes: Int) throws(BenchFailure) -> [String] {
    var urls: [String] = []
    for index in 0..<count {
      let name = "\(100_000 + index).png"
      try add(PNGFile.make(bytes: bytes, seed: UInt64(index)), as: name)
      urls.append(url(name))
    }
    return urls
  }

  func get(_ name: String) -> Contender {
    let request = "GET /\(name) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    return Contender(
      name: "nginx", socket: socket, request: Array(request.utf8), framing: .pages)
  }

  /// Different pictures in turn.
  func inTurn(_ urls: [String]) -> Contender {
    Contender(
      name: "nginx", socket: socket,
      requests: urls.map { url in
        Array("GET /\(url.split(separator: "/").last ?? "") HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      }, framing: .pages)
  }

  /// Requests to counted places so far.
  var counted: Int {
    (File.read(log) ?? []).count { $0 == UInt8(ascii: "\n") }
  }

  /// Those of them that were answered with a status.
  func counted(status: Int) -> Int {
    (File.text(log) ?? "").split(separator: "\n").count { $0.after("\" \(status) ") != nil }
  }

  private static func configuration(
    home: String, directory: String, log: String, socket: String, port: CInt, tlsPort: CInt
  ) -> String {
    """
    daemon off;
    \(getuid() == 0 ? "user root;" : "")
    worker_processes 1;
    pid \(home)/pid;
    events { worker_connections 4096; }
    http {
      types { image/png png; image/jpeg jpg; image/webp webp; }
      sendfile on;
      tcp_nopush on;
      access_log off;
      keepalive_requests 1000000000;
      client_body_temp_path \(home)/a; proxy_temp_path \(home)/b; fastcgi_temp_path \(home)/c;
      uwsgi_temp_path \(home)/d; scgi_temp_path \(home)/e;
      add_header Cache-Control max-age=3600;
      server {
        listen 127.0.0.1:\(port) backlog=4096;
        listen unix:\(socket);
        root \(directory);
        location /counted/ { alias \(directory)/; access_log \(log); }
        location /hop1 { return 301 /hop2; }
        location /hop2 { return 301 /hop3; }
        location /hop3 { return 301 /a.png; }
        location /slow/ { alias \(directory)/; access_log \(log); limit_rate 16k; }
      }
      server {
        listen 127.0.0.1:\(tlsPort) ssl;
        root \(directory);
        ssl_certificate \(home)/server.pem;
        ssl_certificate_key \(home)/server.key;
        ssl_session_cache off;
        ssl_session_tickets off;
        keepalive_timeout 0;
        access_log \(log);
      }
    }

    """
  }
}
