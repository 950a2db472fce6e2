/// The longest time that an origin can have a failure remembered, unless the rule is longer.
///
/// Pages of errors often carry the lifetime that their site gives to everything. A picture that has
/// been put up in the meantime must not stay missing for a year; ten minutes spare the origin
/// nearly as much.
private let longestOfAnOrigin = Duration.seconds(600)

/// How long to remember that there is no such picture; nil: not at all.
///
/// Only 404 and 410 speak of the picture and not of the moment. `rule` holds where the origin says
/// nothing, and a rule of zero switches it all off; `receivedAt` is wall time in seconds.
package func negativeLifetime(
  status: Int, headers: HeaderList, rule: Duration, receivedAt: Int64
) -> Duration? {
  guard rule > .zero, status == 404 || status == 410 else { return nil }
  let answer = Freshness(status: status, headers: headers, receivedAt: receivedAt)
  guard answer.refusal == nil, !answer.needsConfirmation else { return nil }
  let named = AnswerDates(headers, receivedAt: receivedAt)
    .explicitLifetime(CacheControl(headers), isScoped: false)
  guard let named else { return rule }
  let left = min(named - answer.initialAge, max(rule, longestOfAnOrigin))
  return left > .zero ? left : nil
}
