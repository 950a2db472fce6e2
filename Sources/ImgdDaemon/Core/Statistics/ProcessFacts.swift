/// The kernel's figures of this process.
struct ProcessFacts {
  /// Resident memory in bytes.
  let residentBytes: Int
  /// The part of it that is shared with no file and no other process.
  let privateBytes: Int
  /// How many descriptors are open.
  let openDescriptors: Int
}
