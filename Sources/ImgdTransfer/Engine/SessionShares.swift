// libcurl keeps the TLS sessions of a handle with the handle, where no other finds them, unless handles share them: a
// share has room for eight, and forgets the one that was not used for longest. An origin has its sessions in one of
// several shares, so that they outlast visits to some dozens of others.

internal import CCurl

/// The sessions that new connections resume.
@safe final class SessionShares {
  static let most = 8
  /// The sessions of all shares.
  static let mostSessions = most * 8
  /// The memory of a session with the certificates of its origin.
  static let bytesOfSession = 8 * 1024

  // Valid until `close`; curl's own state is only used on the transfer thread.
  private var shares: [UnsafeMutableRawPointer?] = unsafe Array(repeating: nil, count: most)

  /// Has a handle use the sessions of its origin. Each use sets it, also without TLS: a handle that shares none makes
  /// room of its own, which a share that it is given later would leave behind.
  func attach(_ easy: EasyHandle, for url: TransferURL) {
    var hasher = Hasher()
    hasher.combine(url.host)
    hasher.combine(url.port)
    let place = Int(UInt(bitPattern: hasher.finalize()) % UInt(Self.most))
    if unsafe shares[place] == nil { unsafe shares[place] = unsafe curl_share_sessions(sessionIsUsed) }
    unsafe curl_easy_set_context(easy.pointer, CURLOPT_SHARE, shares[place])
  }

  /// Forgets all sessions; no handle uses them any more.
  func close() {
    while let share = unsafe shares.popLast() { unsafe curl_share_cleanup(share) }
  }
}

private func sessionIsUsed(
  _ easy: UnsafeMutableRawPointer?, _ kind: curl_lock_data, _ access: curl_lock_access,
  _ context: UnsafeMutableRawPointer?
) {
  guard kind == CURL_LOCK_DATA_SSL_SESSION, let easy = unsafe easy else { return }
  unsafe object(curl_easy_private(easy), Exchange.self)?.sessionIsUsed()
}
