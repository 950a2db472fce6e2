/// A reference to an object that outlives it, which it does not keep; for code that imgctl shares, in the place
/// of `unowned`, which takes a runtime.
@safe package struct Unowned<Object: AnyObject> {
  #if hasFeature(Embedded)
    // Nothing tells there whether the object is still alive. In every other build the same code does not get
    // away with a reference that dangles.
    private unowned(unsafe) let reference: Object
  #else
    private unowned let reference: Object
  #endif

  /// Refers to an object that somebody else keeps.
  package init(_ object: Object) {
    #if hasFeature(Embedded)
      unsafe reference = object
    #else
      reference = object
    #endif
  }

  /// The object itself, as long as somebody keeps it.
  package var object: Object {
    #if hasFeature(Embedded)
      unsafe reference
    #else
      reference
    #endif
  }
}
