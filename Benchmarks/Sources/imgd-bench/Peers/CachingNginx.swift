import Glibc

/// An nginx as a caching proxy on a Unix socket.
struct CachingNginx {
  let child: Child
  let socket: String
  /// The cache directory, which a later instance can use.
  let cache: String
  private let log: String

  init(
    _ bench: Bench, origin: Nginx, place: Place = .server, cache: String? = nil
  ) throws(BenchFailure) {
    guard Child.exists("nginx") else { throw .unavailable("nginx is missing") }
    socket = bench.path("proxy")
    self.cache = cache ?? bench.path("proxy-cache")
    let home = try bench.directory("proxy-home")
    log = home + "/error.log"
    let configuration = home + "/nginx.conf"
    let text = Self.configuration(
      home: home, socket: socket, cache: self.cache, origin: origin.address)
    try File.write(Array(text.utf8), to: configuration)
    child = try bench.serve(
      ["nginx", "-c", configuration, "-p", home, "-e", log], "proxy", place: place)
    try child.awaitReady("nginx's cache") { [socket] in isListening(socket) }
  }

  /// Requests for some URLs of the origin, in turn.
  func hits(_ urls: [String]) -> Contender {
    Contender(
      name: "nginx cache", socket: socket,
      requests: urls.map { url in
        Array("GET /\(url.split(separator: "/").last ?? "") HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
      }, framing: .pages)
  }

  /// Whether the process that loads the cache after a start has finished.
  var isLoaded: Bool { (File.text(log) ?? "").contains("http file cache: ") }

  private static func configuration(
    home: String, socket: String, cache: String, origin: String
  ) -> String {
    """
    daemon off;
    \(getuid() == 0 ? "user root;" : "")
    worker_processes 1;
    pid \(home)/pid;
    error_log \(home)/error.log notice;
    events { worker_connections 4096; }
    http {
      sendfile on;
      tcp_nopush on;
      access_log off;
      keepalive_requests 1000000000;
      client_body_temp_path \(home)/a; fastcgi_temp_path \(home)/c;
      uwsgi_temp_path \(home)/d; scgi_temp_path \(home)/e;
      proxy_cache_path \(cache) levels=1:2 keys_zone=pictures:64m max_size=100g inactive=7d
        use_temp_path=off loader_files=1000000 loader_threshold=60s loader_sleep=0;
      upstream origin { server \(origin); keepalive 16; }
      server {
        listen unix:\(socket);
        location / {
          proxy_pass http://origin;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_cache pictures;
        }
      }
    }

    """
  }
}
