package capture

import (
	"io"
	"net/netip"
	"runtime"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// maxSegment is the longest piece of payload in one recorded packet. It leaves room for
// headers below the 64 KiB of an IP packet, and keeps the buffers small that many tools
// allocate for the longest packet.
const maxSegment = 32 << 10

// recorder writes connections as packets. Its Writer's mutex guards it.
type recorder struct {
	ng    *pcapgo.NgWriter
	err   error // the first error; nothing is written after it
	flows map[*tapFlow]*recorded

	headersOnly bool // payload is replaced by zeros, see concealer

	// room reports whether a packet of this size may be written; nil: every packet may.
	room    func(size int) bool
	written func() // called after each packet that was written
	packets uint64
	dropped uint64

	buf gopacket.SerializeBuffer
}

// recorded is a connection as one recorder shows it.
type recorded struct {
	seq    [2]uint32 // by side: TCP sequence number of the next byte
	synced [2]bool   // by side: no bytes were left out, or a message has begun since

	concealed [2]concealer // by side: removes payload if headersOnly is set
}

// newRecorder writes the beginning of a capture to out.
func newRecorder(out io.Writer) (*recorder, error) {
	ng, err := pcapgo.NewNgWriterInterface(out, pcapgo.NgInterface{
		Name: "lnet", Description: "LNet connections, shown as TCP to port 988, and RoCEv2",
		LinkType: layers.LinkTypeRaw, TimestampResolution: 9,
	}, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
		Hardware: runtime.GOARCH, OS: runtime.GOOS, Application: "ulnet",
	}})
	if err == nil {
		err = ng.Flush()
	}
	if err != nil {
		return nil, err
	}
	return &recorder{
		ng: ng, flows: map[*tapFlow]*recorded{},
		buf: gopacket.NewSerializeBufferExpectedSize(64, maxSegment),
	}, nil
}

// announce shows the beginning of a connection: the TCP handshake, and the part of LNet's
// handshake that has been sent so far. The mutex of f is held unless f is new.
func (r *recorder) announce(f *tapFlow, at time.Time) {
	const spread = 1_000_003 // distance between the first sequence numbers of consecutive connections
	isn := uint32(f.id) * spread
	c := &recorded{seq: [2]uint32{isn, ^isn}}
	r.flows[f] = c
	r.packet(f, c, Initiator, tcpSYN, nil, at)
	r.packet(f, c, Acceptor, tcpSYN|tcpACK, nil, at)
	r.packet(f, c, Initiator, tcpACK, nil, at)
	for side := range f.halves {
		head, all := f.halves[side].replay()
		r.bytes(f, c, Side(side), head, at)
		c.synced[side] = all
	}
}

// data records bytes of a side.
func (r *recorder) data(f *tapFlow, side Side, b []byte, at time.Time) {
	c := r.flows[f]
	if c == nil {
		return // the connection has not been announced in this capture yet
	}
	if !c.synced[side] {
		if !f.halves[side].beginsMessage(b) {
			return
		}
		c.synced[side] = true
	}
	r.bytes(f, c, side, b, at)
}

func (r *recorder) bytes(f *tapFlow, c *recorded, side Side, b []byte, at time.Time) {
	if r.headersOnly {
		b = c.concealed[side].conceal(side, b)
	}
	for len(b) > 0 {
		n := min(len(b), maxSegment)
		r.packet(f, c, side, tcpACK|tcpPSH, b[:n], at)
		b = b[n:]
	}
}

// close records the end of a connection, as if this node had closed it first.
func (r *recorder) close(f *tapFlow, at time.Time) {
	c := r.flows[f]
	if c == nil {
		return
	}
	delete(r.flows, f)
	r.packet(f, c, f.local, tcpFIN|tcpACK, nil, at)
	r.packet(f, c, f.local.Other(), tcpFIN|tcpACK, nil, at)
	r.packet(f, c, f.local, tcpACK, nil, at)
}

// finish completes the capture with its statistics.
func (r *recorder) finish(at time.Time) {
	if r.err == nil {
		r.err = r.ng.WriteInterfaceStats(0, pcapgo.NgInterfaceStatistics{
			LastUpdate: at, PacketsReceived: r.packets + r.dropped, PacketsDropped: r.dropped,
		})
	}
	_ = r.flush() // r.err keeps the error of flush
}

func (r *recorder) flush() error {
	if r.err == nil {
		r.err = r.ng.Flush()
	}
	return r.err
}

// Flags in the TCP header.
const (
	tcpFIN = 1 << iota
	tcpSYN
	_
	tcpPSH
	tcpACK
)

// packet writes one packet from side and moves its sequence number on.
func (r *recorder) packet(f *tapFlow, c *recorded, side Side, flags uint8, b []byte, at time.Time) {
	seq, ack := c.seq[side], c.seq[side.Other()]
	c.seq[side] += uint32(len(b))
	if flags&(tcpSYN|tcpFIN) != 0 {
		c.seq[side]++
	}
	if r.err != nil {
		return
	}
	if r.room != nil && !r.room(len(b)) {
		r.dropped++
		return
	}
	tcp := layers.TCP{
		Seq: seq, Window: 0xFFFF,
		FIN: flags&tcpFIN != 0, SYN: flags&tcpSYN != 0, PSH: flags&tcpPSH != 0, ACK: flags&tcpACK != 0,
	}
	if tcp.ACK {
		tcp.Ack = ack
	}
	if r.err = r.serialize(f.ends[side], f.ends[side.Other()], &tcp, b); r.err != nil {
		return
	}
	r.write(at)
}

// write writes the packet that is in r.buf.
func (r *recorder) write(at time.Time) {
	data := r.buf.Bytes()
	info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(data), Length: len(data)}
	if r.err = r.ng.WritePacket(info, data); r.err != nil {
		return
	}
	r.packets++
	if r.written != nil {
		r.written()
	}
}

// serialize puts the packet into r.buf.
func (r *recorder) serialize(src, dst netip.AddrPort, tcp *layers.TCP, b []byte) error {
	tcp.SrcPort, tcp.DstPort = layers.TCPPort(src.Port()), layers.TCPPort(dst.Port())
	ip, network := ipLayer(src.Addr(), dst.Addr(), layers.IPProtocolTCP, 64)
	_ = tcp.SetNetworkLayerForChecksum(network) // network is an IP layer, so this cannot fail
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	return gopacket.SerializeLayers(r.buf, options, ip, tcp, gopacket.Payload(b))
}
