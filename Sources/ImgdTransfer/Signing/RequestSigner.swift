internal import ImgdSystem

/// The credentials of a bucket, which sign the requests for its objects, and where the bucket was found last. The same
/// object serves all of its transfers, on any thread. Nothing prints what is in it.
package final class RequestSigner: Sendable {
  private struct State {
    var place: BucketPlace
    /// Derived for the day and the region of the last request.
    var key: SigningKey?
  }

  private let credentials: SigningCredentials
  /// Where the bucket is looked for first.
  private let home: BucketPlace
  private let wallSeconds: @Sendable () -> Int64
  private let state: Locked<State>

  /// Requests are signed at the time that `wallSeconds` gives, in seconds since 1970.
  package init(
    _ credentials: SigningCredentials, for place: BucketPlace,
    wallSeconds: @escaping @Sendable () -> Int64 = { WallClock.seconds }
  ) {
    self.credentials = credentials
    home = place
    self.wallSeconds = wallSeconds
    state = Locked(State(place: place))
  }

  /// Whether it is the one for these settings.
  package func isFor(_ place: BucketPlace, with credentials: SigningCredentials) -> Bool {
    home == place && self.credentials == credentials
  }

  /// Where the bucket was found last.
  package var place: BucketPlace { state.withLock { $0.place } }

  /// Remembers where an object was found.
  func keep(_ place: BucketPlace) {
    if place.isLasting { state.withLock { $0.place = place } }
  }

  /// Signs a request for a URL of the bucket, by the clock of this moment. Fields of the service that come with it are
  /// signed as well, since it demands that. A request with an authorisation of its own is left as it is.
  func sign(_ fields: [HeaderField], for url: TransferURL, at place: BucketPlace) -> SignedRequest {
    let seconds = wallSeconds()
    guard !fields.contains(where: { $0.name.lowercased() == "authorization" }) else {
      return SignedRequest(fields: fields, place: place, seconds: seconds)
    }
    let moment = SigningMoment(seconds)
    var own = [
      HeaderField("x-amz-content-sha256", CanonicalRequest.digestOfNothing), HeaderField("x-amz-date", moment.stamp),
    ]
    if let token = credentials.sessionToken { own.append(HeaderField("x-amz-security-token", token)) }
    let others = fields.filter { field in !own.contains { $0.name == field.name.lowercased() } }
    let service = others.filter { $0.isOneLine && $0.name.lowercased().hasPrefix("x-amz-") }
    let request = CanonicalRequest(
      path: url.target.prefix { $0 != "?" }, query: url.query,
      fields: own + service + [HeaderField("host", url.hostField)])
    let key = key(for: SigningScope(day: moment.day, region: place.region))
    let authorization = key.authorization(of: request, at: moment.stamp, accessKey: credentials.accessKey)
    return SignedRequest(
      fields: others + own + [HeaderField("Authorization", authorization)], place: place, seconds: seconds)
  }

  private func key(for scope: SigningScope) -> SigningKey {
    state.withLock { state in
      if let key = state.key, key.scope == scope { return key }
      let key = SigningKey(secret: credentials.secret, for: scope)
      state.key = key
      return key
    }
  }
}

extension RequestSigner: CustomReflectable {
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// A request as it is signed.
struct SignedRequest {
  /// All of its fields but the engine's own.
  let fields: [HeaderField]
  let place: BucketPlace
  /// The time of the signature, in seconds since 1970.
  let seconds: Int64
}

/// The key of an account, as AWS and services like it give it out.
package struct SigningCredentials: Sendable, Equatable {
  let accessKey: String
  let secret: String
  /// What makes the key of a session valid, for as long as the session lasts.
  let sessionToken: String?

  package init(accessKey: String, secret: String, sessionToken: String? = nil) {
    self.accessKey = accessKey
    self.secret = secret
    self.sessionToken = sessionToken
  }
}

/// Texts of any kind show that there are credentials, and none of them.
extension SigningCredentials: CustomStringConvertible, CustomReflectable {
  package var description: String { "credentials" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
