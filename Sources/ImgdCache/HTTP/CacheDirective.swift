internal import ImgdText

/// One member of Cache-Control or Pragma, read so that a malformed one may forbid but never permits.
///
/// A directive that forbids something counts as soon as its name can be read. What it permits depends on its
/// argument, which is invalid if anything follows that the grammar does not allow, and in everything
/// after a quoted string without an end (RFC 9111, 4.2.1 and 5.2).
struct CacheDirective {
  enum Argument: Equatable {
    case none
    case text(String)
    case invalid
  }

  /// In lower case.
  let name: String
  let argument: Argument

  /// Nil for a member that does not begin with a name.
  private init?(_ scanner: inout FieldScanner) {
    scanner.skipBlanks()
    guard let name = scanner.takeToken() else { return nil }
    self.name = name
    let hasArgument = scanner.takeByte(UInt8(ascii: "="))
    let text = hasArgument ? scanner.takeQuoted() ?? scanner.takeToken() : nil
    if scanner.isTorn || !scanner.isAtEndOfMember {
      argument = .invalid
    } else {
      argument = hasArgument ? text.map(Argument.text) ?? .invalid : .none
    }
  }

  /// Visits the members of a field's value in their order.
  static func each(of value: String, _ visit: (CacheDirective) -> Void) {
    var scanner = FieldScanner(value)
    repeat { if let directive = CacheDirective(&scanner) { visit(directive) } } while scanner.nextMember()
  }

  /// The number of seconds that it names; an invalid number counts as 0.
  var seconds: Int64 {
    guard case .text(let text) = argument else { return 0 }
    return CacheControl.seconds(text) ?? 0
  }

  /// Whether it is written without an argument: only then do directives that have none permit anything.
  var isPlain: Bool { argument == .none }
}
