/// Header fields of an HTTP message in their order, names in lower case.
package typealias HeaderList = [(name: String, value: String)]
