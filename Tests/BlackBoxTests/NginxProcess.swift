import Glibc
import ImgdTestSupport

/// A running nginx with a server of a test's, on a port of its own; needs root.
final class NginxProcess {
  private let listener: PassedListener
  private let log: String
  private let pid: pid_t

  /// What the server's configuration has for its address.
  var address: String { "127.0.0.1:\(listener.port)" }

  /// Starts it in a directory; `http` makes the contents of the block with that name, for an address.
  init(in directory: String, http: (_ address: String) -> String) throws {
    listener = try PassedListener()
    log = directory + "/nginx.log"
    try write(
      """
      daemon off;
      user root;
      pid \(directory)/nginx.pid;
      events { worker_connections 64; }
      http {
        access_log off;
        client_body_temp_path temp;
        proxy_temp_path temp;
        fastcgi_temp_path temp;
        uwsgi_temp_path temp;
        scgi_temp_path temp;
        \(http("127.0.0.1:\(listener.port)"))
      }
      """, to: directory + "/nginx.conf")
    pid = try ChildProcess.spawn(
      "/usr/sbin/nginx", ["-p", directory, "-c", directory + "/nginx.conf", "-e", "stderr"],
      output: log, environment: ["NGINX=3;"],
      descriptors: [listener.number])
  }

  deinit {
    kill(pid, SIGTERM)
    _ = ChildProcess.wait(pid)
  }

  /// What it has complained of.
  var complaints: String { read(log) ?? "" }
}
