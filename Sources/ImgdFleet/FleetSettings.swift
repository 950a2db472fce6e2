/// Where the fleet's server is, and what may be asked of it.
package struct FleetSettings: Sendable, Equatable {
  /// The address of the server.
  package enum Server: Sendable, Equatable {
    case unix(path: String)
    case tcp(host: String, port: Int)
  }

  package var server: Server
  package var user: String?
  /// Read at each connection: the password may change.
  package var passwordFile: String?
  /// The beginning of all keys.
  package var namespace: String
  /// The largest picture that is stored or read.
  package var maxObject: Int
  /// How long a look-up may take.
  package var timeout: Duration

  package init(
    server: Server, user: String? = nil, passwordFile: String? = nil, namespace: String = "imgd",
    maxObject: Int = 1 << 20, timeout: Duration = .milliseconds(50)
  ) {
    self.server = server
    self.user = user
    self.passwordFile = passwordFile
    self.namespace = namespace
    self.maxObject = maxObject
    self.timeout = timeout
  }
}
