import Glibc
import ImgdGateway

@main struct ImgdHTTPMain { static func main() { exit(GatewayProgram.run()) } }
