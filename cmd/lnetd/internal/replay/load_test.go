// Package replay plays one side of a recorded conversation against a running node, and compares
// what the node sends with what the other side sent in the recording. It is for tests.
//
// Load reads a capture into a [Script]. Its events, in order, are that a side opens a
// connection, sends bytes, or closes the connection. A [Player] plays one side over real
// sockets. It keeps the order of the recording and sends the recorded bytes unchanged, with one
// exception: if a recorded message contains a handle of the other side, the player sends the
// handle that the node has sent. [Script.Records] splits the recorded bytes into records of the
// protocol.
//
// The bytes that the node sends must equal those of the recording, except where two nodes must
// differ; see [Differences].
package replay

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/encap"
)

// Side is one end of a connection.
type Side uint8

// The sides.
const (
	Initiator Side = iota // the side that dialled
	Acceptor              // the side that listened
)

// Other returns the other side.
func (s Side) Other() Side { return 1 - s }

func (s Side) String() string { return [...]string{"initiator", "acceptor"}[s] }

// Kind is the kind of an Event.
type Kind uint8

// The kinds of events.
const (
	Open   Kind = iota // the initiator opens a connection
	Data               // a side sends bytes
	Closed             // a side ends the connection, with FIN or RST
)

func (k Kind) String() string { return [...]string{"open", "data", "close"}[k] }

// Event is one thing that a side did.
type Event struct {
	Kind Kind          // what happened
	Conn int           // index in Script.Conns
	From Side          // the side that acted
	At   time.Duration // time since the beginning of the recording

	Data   []byte          // with Data: the bytes of one TCP segment, or one record
	Record *capture.Record // with Data, in a script of records: the parsed record
	Reset  bool            // with Closed: the connection ended by RST, in both directions
}

// Conn is one recorded TCP connection.
type Conn struct {
	Ends [2]netip.AddrPort // addresses of both ends, by Side
	// Refused means that no process listened on the port: the answer to the SYN was RST.
	Refused bool
}

// Script is a recorded conversation.
type Script struct {
	Conns  []Conn  // connections in the order of their first SYN
	Events []Event // events in the order of the recording
}

// Load reads a capture file, also one that gzip has compressed. It puts segments in order and omits retransmissions. Recordings
// must be complete: lost bytes are an error, and so is a connection whose SYN is missing.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain := io.Reader(f)
	if strings.HasSuffix(path, ".gz") {
		if plain, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	r, err := capture.NewReader(plain)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l := loader{flows: make(map[[2]netip.AddrPort]*flow)}
	for frame := 1; ; frame++ {
		packet, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = l.packet(packet)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: frame %d: %w", path, frame, err)
		}
	}
	if err := l.missing(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &l.script, nil
}

// loader makes a Script from packets.
type loader struct {
	script Script
	start  time.Time
	flows  map[[2]netip.AddrPort]*flow // by source and destination: one direction of a connection
}

// flow is one direction of a connection.
type flow struct {
	conn     int
	from     Side
	next     uint32 // sequence number of the next byte in order
	answered bool   // a SYN was seen in this direction
	closed   bool
	later    []*layers.TCP // segments that arrived after a gap
}

func (l *loader) packet(packet capture.Packet) error {
	p := gopacket.NewPacket(packet.Data, encap.Link(packet.Link), gopacket.Default)
	src, dst := addresses(p.NetworkLayer())
	tcp, ok := p.TransportLayer().(*layers.TCP)
	if !ok {
		return nil
	}
	if l.start.IsZero() {
		l.start = packet.Time
	}
	at := packet.Time.Sub(l.start)
	ends := [2]netip.AddrPort{
		netip.AddrPortFrom(src, uint16(tcp.SrcPort)),
		netip.AddrPortFrom(dst, uint16(tcp.DstPort)),
	}
	if tcp.SYN && !tcp.ACK {
		l.open(ends, tcp.Seq, at)
		return nil
	}
	return l.segment(l.flows[ends], tcp, at)
}

// addresses returns the addresses of an IP layer. Without an IP layer there is no TCP.
func addresses(network gopacket.NetworkLayer) (src, dst netip.Addr) {
	switch ip := network.(type) {
	case *layers.IPv4:
		src, _ = netip.AddrFromSlice(ip.SrcIP)
		dst, _ = netip.AddrFromSlice(ip.DstIP)
	case *layers.IPv6:
		src, _ = netip.AddrFromSlice(ip.SrcIP)
		dst, _ = netip.AddrFromSlice(ip.DstIP)
	}
	return src, dst
}

// open starts a new connection, which may reuse the ports of an earlier one.
func (l *loader) open(ends [2]netip.AddrPort, seq uint32, at time.Duration) {
	l.forgetUnanswered(ends)
	conn := len(l.script.Conns)
	l.script.Conns = append(l.script.Conns, Conn{Ends: ends})
	l.script.Events = append(l.script.Events, Event{Kind: Open, Conn: conn, From: Initiator, At: at})
	l.flows[ends] = &flow{conn: conn, from: Initiator, next: seq + 1}
	l.flows[[2]netip.AddrPort{ends[1], ends[0]}] = &flow{conn: conn, from: Acceptor}
}

// forgetUnanswered removes the last connection if its SYN got no answer, not even a refusal, and had the
// given ends: the SYN that begins a connection between these ends now is then its repetition.
func (l *loader) forgetUnanswered(ends [2]netip.AddrPort) {
	f, last := l.flows[ends], len(l.script.Conns)-1
	back := l.flows[[2]netip.AddrPort{ends[1], ends[0]}]
	if f == nil || f.from != Initiator || f.conn != last || back.answered || l.script.Conns[last].Refused {
		return
	}
	l.script.Conns = l.script.Conns[:last]
	l.script.Events = slices.DeleteFunc(l.script.Events, func(e Event) bool { return e.Conn == last })
}

func (l *loader) segment(f *flow, tcp *layers.TCP, at time.Duration) error {
	switch {
	case f == nil:
		return errors.New("the beginning of its connection is missing")
	case tcp.SYN:
		f.next, f.answered = tcp.Seq+1, true
	case f.from == Acceptor && !f.answered && tcp.RST:
		l.script.Conns[f.conn].Refused = true
	case f.from == Acceptor && !f.answered: // not a SYN: the segment belongs to an earlier connection with the same ports
	case int32(tcp.Seq-f.next) > 0 && !tcp.RST:
		f.later = append(f.later, tcp)
	default:
		l.inOrder(f, tcp, at)
		for i := 0; i < len(f.later); i++ {
			if int32(f.later[i].Seq-f.next) <= 0 {
				l.inOrder(f, f.later[i], at)
				f.later = slices.Delete(f.later, i, i+1)
				i = -1
			}
		}
	}
	return nil
}

// inOrder adds a segment that begins at or before the next byte.
func (l *loader) inOrder(f *flow, tcp *layers.TCP, at time.Duration) {
	e := Event{Conn: f.conn, From: f.from, At: at}
	seen := min(int(f.next-tcp.Seq), len(tcp.Payload))
	if data := tcp.Payload[max(0, seen):]; len(data) > 0 && !tcp.RST {
		e.Kind, e.Data = Data, data
		f.next += uint32(len(data))
		l.script.Events = append(l.script.Events, e)
	}
	if (tcp.FIN || tcp.RST) && !f.closed {
		f.closed = true
		f.next++
		e.Kind, e.Data, e.Reset = Closed, nil, tcp.RST
		l.script.Events = append(l.script.Events, e)
	}
}

// missing returns an error if the recording has a gap.
func (l *loader) missing() error {
	for ends, f := range l.flows {
		if len(f.later) > 0 {
			return fmt.Errorf("bytes from %v to %v are missing", ends[Initiator], ends[Acceptor])
		}
	}
	return nil
}
