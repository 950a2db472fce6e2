extension ScreenLine {
  /// A line of `top` with its label and its value, after which a bar, a plot or a remark may follow.
  init(label: String, _ value: String) {
    self.init(TextWidth.padded(label, to: 10))
    add(TextWidth.padded(value, to: 9, onLeft: true), .heading)
  }
}
