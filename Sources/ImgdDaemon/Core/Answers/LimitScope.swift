/// Whose limit was reached.
enum LimitScope: String {
  case connection
  case user
  case daemon
}
