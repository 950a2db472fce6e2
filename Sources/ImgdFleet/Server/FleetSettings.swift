internal import ImgdCache

/// Where the fleet's servers are, and what may be asked of them.
package struct FleetSettings: Sendable, Equatable {
  /// How many servers for pictures there may be: each has a connection of every host.
  package static let mostPictureServers = 64

  /// A host, by its name or address, and a port.
  package struct Endpoint: Sendable, Equatable, CustomStringConvertible {
    package let host: String
    package let port: Int

    package init(host: String, port: Int) {
      self.host = host
      self.port = port
    }

    package var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  /// Where a server is.
  package enum Server: Sendable, Equatable, CustomStringConvertible {
    case unix(path: String)
    case tcp(host: String, port: Int, isSecure: Bool = false)
    /// Sentinels, which know where the master of this name is at present.
    case sentinel([Endpoint], master: String)

    /// As in the configuration. Hosts agree by it on the server that has a picture, so its form is part of the protocol.
    package var description: String {
      switch self {
      case .unix(let path): "unix:\(path)"
      case .tcp(let host, let port, let isSecure):
        "\(isSecure ? "rediss://" : "")\(Endpoint(host: host, port: port))"
      case .sentinel(let endpoints, let master):
        "sentinel://\(endpoints.map(\.description).joined(separator: ","))/\(master)"
      }
    }
  }

  /// The server that has the log of purges, and the pictures, too, unless there are servers for them.
  package var server: Server
  package var pictures: [Server]
  package var user: String?
  /// Read at each connection: the password may change.
  package var passwordFile: String?
  package var tls: TLSSettings
  /// The beginning of all keys.
  package var namespace: String
  /// The largest picture that is stored or read.
  package var maxObject: Int
  /// How long a look-up may take.
  package var timeout: Duration
  /// The newest layout of values that is read and written; an older one stands for a host of an earlier release.
  var layout = FleetValue.newestLayout

  package init(
    server: Server, pictures: [Server] = [], user: String? = nil, passwordFile: String? = nil,
    tls: TLSSettings = TLSSettings(), namespace: String = "imgd", maxObject: Int = 1 << 20,
    timeout: Duration = .milliseconds(50)
  ) {
    self.server = server
    self.pictures = pictures
    self.user = user
    self.passwordFile = passwordFile
    self.tls = tls
    self.namespace = namespace
    self.maxObject = maxObject
    self.timeout = timeout
  }
}
