// The peers that a measurement needs in plain C.
