internal import CCurl

/// One of curl's transfer handles.
@safe final class EasyHandle {
  // Valid from init to deinit; curl's own state is only used on the transfer thread.
  let pointer: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  private var lists: [UnsafeMutablePointer<curl_slist>] = unsafe []

  init?() {
    guard let pointer = unsafe curl_easy_init() else { return nil }
    unsafe self.pointer = unsafe pointer
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    reset()
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    freeLists()
    unsafe errors.deallocate()
  }

  /// Clears all options and callback pointers.
  func reset() {
    unsafe curl_easy_reset(pointer)
    freeLists()
    unsafe errors.pointee = 0
    unsafe curl_easy_set_errors(pointer, errors)
  }

  func set(_ option: CURLoption, _ value: Int) { unsafe curl_easy_set_long(pointer, option, value) }

  /// nil clears an option that has a default.
  func set(_ option: CURLoption, _ value: String?) {
    guard let value else { return _ = unsafe curl_easy_set_string(pointer, option, nil) }
    unsafe curl_easy_set_string(pointer, option, value)
  }

  func set(_ option: CURLoption, context object: AnyObject) {
    unsafe curl_easy_set_context(pointer, option, Unmanaged.passUnretained(object).toOpaque())
  }

  /// Sets an option that is a list of lines.
  func set(_ option: CURLoption, lines: [String]) {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { unsafe list = unsafe curl_slist_append(list, line) }
    guard let list = unsafe list else { return }
    unsafe lists.append(list)
    unsafe curl_easy_set_list(pointer, option, list)
  }

  private func freeLists() { while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) } }

  /// curl's own description of its error; may be empty. It may quote the origin, such as its
  /// certificate, so characters that are not printable are replaced.
  var complaint: String {
    unsafe String(cString: errors).utf8.reduce(into: "") { text, byte in
      text.unicodeScalars.append((0x20...0x7e).contains(byte) ? UnicodeScalar(byte) : "?")
    }
  }

  /// The length that the origin announced for the body.
  var expectedLength: Int? {
    let length = unsafe curl_easy_expected_length(pointer)
    return length >= 0 ? Int(length) : nil
  }
}
