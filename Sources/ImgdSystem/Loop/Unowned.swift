/// A reference to an object that it does not keep alive, and that outlives it; for code that imgctl shares, in
/// place of `unowned`, which needs a runtime.
@safe package struct Unowned<Object: AnyObject> {
  #if hasFeature(Embedded)
    // Nothing checks here whether the object is still alive. In every other build the same code does not get
    // away with a dangling reference.
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
