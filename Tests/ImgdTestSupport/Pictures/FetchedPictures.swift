/// Pictures that tests fetch; another seed is another picture.
package func png(_ bytes: Int = 1_000, seed: UInt64 = 0) -> [UInt8] {
  TestPicture.png(bytes: bytes, seed: seed)
}

package func jpeg(_ bytes: Int = 1_000, seed: UInt64 = 0) -> [UInt8] {
  TestPicture.jpeg(bytes: bytes, seed: seed)
}
