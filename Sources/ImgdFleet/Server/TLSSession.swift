internal import CTLS
import Glibc
internal import ImgdSystem

/// TLS over a connected socket, by libssl; its calls never wait.
///
/// libssl writes to sockets that may have ended: the thread has to block `SIGPIPE`.
@safe final class TLSSession {
  private let tls: OpaquePointer
  private let name: String
  private let settings: TLSSettings
  private var isShaken = false

  /// Reads the files that the settings name.
  init(over socket: CInt, serverName: String, _ settings: TLSSettings) throws(FleetTrouble) {
    guard let context = unsafe tls_make_context() else { throw FleetTrouble(.down, "out of memory") }
    // A session holds its context.
    defer { unsafe SSL_CTX_free(context) }
    try unsafe Self.load(settings, into: context)
    guard let tls = unsafe SSL_new(context) else { throw FleetTrouble(.down, "out of memory") }
    unsafe (self.tls, name, self.settings) = (tls, serverName, settings)
    guard unsafe tls_expect(tls, serverName) == 1, unsafe SSL_set_fd(tls, socket) == 1 else {
      throw FleetTrouble(.down, "out of memory")
    }
  }

  deinit { unsafe SSL_free(tls) }

  private static func load(_ settings: TLSSettings, into context: OpaquePointer) throws(FleetTrouble) {
    try requireFiles(settings)
    ERR_clear_error()
    if let file = settings.caFile {
      guard unsafe SSL_CTX_load_verify_file(context, file) == 1 else { throw useless("CAFile", file) }
    } else {
      unsafe SSL_CTX_set_default_verify_paths(context)
    }
    guard let certificate = settings.certificateFile else { return }
    guard unsafe SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
      throw useless("CertificateFile", certificate)
    }
    guard let key = settings.keyFile else {
      throw FleetTrouble(.refused, "Fleet.CertificateFile= is of no use without its key: set Fleet.KeyFile=")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else { throw useless("KeyFile", key) }
  }

  /// A pipe, of which libssl would wait for the other end, is no file.
  private static func requireFiles(_ settings: TLSSettings) throws(FleetTrouble) {
    let files = [
      ("CAFile", settings.caFile), ("CertificateFile", settings.certificateFile), ("KeyFile", settings.keyFile),
    ]
    for case (let key, let path?) in files {
      var status = stat()
      guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG else { continue }
      throw FleetTrouble(.refused, "Fleet.\(key)=\(path) cannot be used: it is no file")
    }
  }

  private static func useless(_ key: String, _ path: String) -> FleetTrouble {
    FleetTrouble(.refused, "Fleet.\(key)=\(path) cannot be used: \(reasonText)")
  }

  /// libssl's words for what went wrong last.
  private static var reasonText: String {
    guard let text = unsafe tls_reason_text() else { return "no reason is known" }
    return unsafe String(cString: text)
  }

  // MARK: Bytes

  /// Goes on with the handshake; a passage of no bytes is its end.
  func shake() -> Passage {
    guard !isShaken else { return .bytes(0) }
    ERR_clear_error()
    let code = unsafe SSL_connect(tls)
    guard code == 1 else { return outcome(of: code) }
    isShaken = true
    return .bytes(0)
  }

  /// Reads record after record, which have 16 KiB at most, until the room is full or nothing more has come.
  func read(into room: UnsafeMutableRawBufferPointer) -> Passage {
    ERR_clear_error()
    var filled = 0
    while filled < room.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: room[filled...])
      let count = unsafe SSL_read(tls, rest.baseAddress, CInt(clamping: rest.count))
      // What else there is to say is said to the next one who asks.
      guard count > 0 else { return filled > 0 ? .bytes(filled) : outcome(of: count) }
      filled += Int(count)
    }
    return .bytes(filled)
  }

  /// Writes one record: at most 16 KiB.
  func write(_ bytes: UnsafeRawBufferPointer) -> Passage {
    ERR_clear_error()
    let count = unsafe SSL_write(tls, bytes.baseAddress, CInt(clamping: bytes.count))
    return count > 0 ? .bytes(Int(count)) : outcome(of: count)
  }

  /// Whether bytes have been read from the socket that nobody has been given yet.
  var hasPending: Bool { unsafe SSL_has_pending(tls) == 1 }

  /// Says farewell, as far as the socket takes that at once.
  func close() {
    if isShaken { unsafe _ = SSL_shutdown(tls) }
    ERR_clear_error()
  }

  // MARK: What went wrong

  private func outcome(of code: CInt) -> Passage {
    let reason = errno
    switch unsafe SSL_get_error(tls, code) {
    case SSL_ERROR_WANT_READ: return .blocked(until: .read)
    case SSL_ERROR_WANT_WRITE: return .blocked(until: .write)
    case SSL_ERROR_ZERO_RETURN: return .end
    case SSL_ERROR_SYSCALL where reason == 0: return .end
    case SSL_ERROR_SYSCALL: return .failed(FleetTrouble(.down, unsafe String(cString: strerror(reason))))
    default: return .failed(trouble)
    }
  }

  private var trouble: FleetTrouble {
    let verdict = unsafe SSL_get_verify_result(tls)
    if !isShaken, verdict != X509_V_OK {
      let text = unsafe String(cString: X509_verify_cert_error_string(verdict))
      return FleetTrouble(.refused, "the certificate of \(name): \(text): \(Self.remedy(for: CInt(verdict)))")
    }
    switch tls_reason() {
    case SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_HTTP_REQUEST, SSL_R_UNEXPECTED_MESSAGE:
      return FleetTrouble(.refused, "it speaks no TLS at this port: name its tls-port, or leave rediss:// out")
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED: return unknown
    // Before TLS 1.3 a server says no more than this where it asks in vain.
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE where settings.certificateFile == nil: return unknown
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA, SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
      SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return FleetTrouble(.refused, "it does not accept the certificate of Fleet.CertificateFile=: \(Self.reasonText)")
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_UNSUPPORTED_PROTOCOL:
      return FleetTrouble(.refused, "it speaks no TLS 1.2 or later: set its tls-protocols")
    default: return FleetTrouble(.down, "TLS has failed: \(Self.reasonText)")
    }
  }

  private var unknown: FleetTrouble {
    FleetTrouble(.refused, "it asks for a certificate of this host: set Fleet.CertificateFile= and Fleet.KeyFile=")
  }

  private static func remedy(for verdict: CInt) -> String {
    switch verdict {
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: "set Fleet.ServerName= to a name that it has"
    case X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID: "renew it, or set this machine's clock"
    default: "set Fleet.CAFile="
    }
  }
}
