import Glibc
import ImgdDecoder

@main struct DecoderMain { static func main() { exit(DecoderProgram.run()) } }
