package xfer

// Link is what a rail's bytes pass through.
type Link struct {
	MTU    int64 // bytes of an IP packet
	Shaper bool  // a tc shaper counts, which sees 14 bytes of Ethernet a frame, not the wire's 38
}

// Per-frame and per-write bytes that are not payload.
const (
	ipTCPBytes     = 20 + 20 + 12 // IPv4, TCP, timestamps (RFC 7323)
	wireBytes      = 38           // preamble 8, header 14, FCS 4, gap 12 (IEEE 802.3)
	shaperBytes    = 14           // skb->len at the qdisc: the Ethernet header only
	writeHeader    = 16 + 8       // libfabric's tcp provider: base header and immediate data
	writePageBytes = 24           // and an address, length and key for each piece
)

// GoodputLimit is the largest share of a link's rate that page payload can
// reach over TCP, when a write carries pages pages of size bytes each.
func GoodputLimit(l Link, size int64, pages int) float64 {
	frame := int64(wireBytes)
	if l.Shaper {
		frame = shaperBytes
	}
	tcp := float64(l.MTU-ipTCPBytes) / float64(l.MTU+frame)
	payload := float64(size) * float64(pages)
	return tcp * payload / (payload + writeHeader + writePageBytes*float64(pages))
}
