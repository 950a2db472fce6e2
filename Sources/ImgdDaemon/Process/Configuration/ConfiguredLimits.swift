// The operator's settings, in the types of the parts that they apply to.

import ImgdCache
import ImgdFleet
import ImgdProgram
import ImgdSystem
import ImgdTransfer
import ImgdWire

extension MemoryTier.Limits {
  init(_ memory: Configuration.Memory) {
    self.init(capacity: memory.capacity, preferred: memory.preferredBytes, maxEntry: memory.maxEntryBytes)
  }
}

extension DiskLimits {
  init(_ disk: Configuration.Disk) {
    let capacity: DiskLimits.Capacity =
      switch disk.capacity {
      case .auto: .share(percent: 5, most: 2 << 30)
      case .bytes(let bytes): .bytes(bytes)
      }
    let minFree: DiskLimits.MinFree =
      switch disk.minFree {
      case .bytes(let bytes): .bytes(bytes)
      case .percent(let percent): .percent(percent)
      }
    self.init(
      capacity: capacity, trimToPercent: disk.trimToPercent, maxAge: disk.maxAge > .zero ? disk.maxAge : nil,
      minFree: minFree, lease: disk.lease, shedsOriginals: disk.originals == .shed)
  }
}

extension PressureRequest {
  init(_ memory: Configuration.Memory, _ environment: SystemdEnvironment) {
    self.init(isWanted: memory.pressure == .auto, watch: environment.pressureWatch, write: environment.pressureWrite)
  }
}

extension FreshnessRules {
  init(_ http: Configuration.HTTP) {
    self.init(
      defaultLifetime: http.defaultFreshness, heuristicPercent: http.heuristicPercent, staleIfError: http.staleIfError,
      longestTTL: http.maxTTL)
  }
}

extension TransferSettings {
  init(_ configuration: Configuration) {
    self.init()
    let downloads = configuration.downloads
    connectTimeout = downloads.connectTimeout
    idleTimeout = downloads.idleTimeout
    retries = downloads.retries
    let types = downloads.acceptTypes.map { "image/\($0 == .svg ? "svg+xml" : $0.rawValue)," }.joined()
    ownFields = OwnFields(userAgent: downloads.userAgent, accept: types + "*/*;q=0.1")
    caFile = configuration.network.caFile
    addressRule = AddressRule(configuration.network)
    maxConnections = max(2 * downloads.maxActive, 16)
  }
}

extension Configuration.Downloads {
  /// Half of the processors, since the control loop and the writer have as much to do with each picture, and no more
  /// than keep those two busy.
  var threadCount: Int {
    switch threads {
    case .auto: min(max(Processors.count / 2, 1), 4)
    case .count(let number): number
    }
  }
}

extension AddressRule {
  init(_ network: Configuration.Network) {
    self.init(
      mode: Mode(rawValue: network.privateAddresses.rawValue) ?? .direct,
      allow: network.allow.compactMap { AddressRange($0) }, deny: network.deny.compactMap { AddressRange($0) })
  }
}

extension WireLimits {
  init(_ control: Configuration.Control) {
    self.init()
    line = control.maxLine
    connections = control.maxClients
  }
}

extension FleetSettings {
  /// The settings of the fleet engine; nil for a machine without a fleet.
  init?(_ fleet: Configuration.Fleet) {
    guard !fleet.server.isEmpty, let server = try? Server(fleet.server) else { return nil }
    self.init(
      server: server, pictures: fleet.pictures.compactMap { try? Server($0) }, user: fleet.user.unlessEmpty,
      passwordFile: fleet.passwordFile.unlessEmpty,
      tls: TLSSettings(
        caFile: fleet.caFile.unlessEmpty, serverName: fleet.serverName.unlessEmpty,
        certificateFile: fleet.certificateFile.unlessEmpty, keyFile: fleet.keyFile.unlessEmpty),
      namespace: fleet.namespace, maxObject: fleet.maxObject, timeout: fleet.timeout)
  }
}

extension String { fileprivate var unlessEmpty: String? { isEmpty ? nil : self } }
