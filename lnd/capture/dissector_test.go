package capture_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"ulnet/lnd"
	"ulnet/lnd/capture"
	_ "ulnet/lnd/capture/encap"
	"ulnet/lnd/lndtest/effort"
)

// readPackets returns the packets of a capture.
func readPackets(t testing.TB, in io.Reader) []capture.Packet {
	t.Helper()
	r, err := capture.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var list []capture.Packet
	for {
		p, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Data = bytes.Clone(p.Data)
		list = append(list, p)
	}
}

// recordWrites calls do with a Writer, and returns the packets that the Writer has written.
func recordWrites(t testing.TB, do func(*capture.Writer)) []capture.Packet {
	t.Helper()
	var out bytes.Buffer
	w, err := capture.NewWriter(&out, clock())
	if err != nil {
		t.Fatal(err)
	}
	do(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return readPackets(t, &out)
}

// bulk is a connection with two PUTs of 1 MiB: packets 0 to 2 are the handshake of TCP, 3 and 4 that
// of LNet; then come 33 for each PUT, and 3 for the end of the connection.
func bulk(t testing.TB) []capture.Packet {
	return recordWrites(t, func(w *capture.Writer) {
		flows := taps(w, 1, true)
		list := bulkRuns(0)
		play(flows, append(list, list[2]), capture.Initiator)
		flows[0].Close()
	})
}

// tell dissects packets and returns the records, one per line.
func tell(packets []capture.Packet) []string {
	var lines []string
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if r.Kind == capture.Opened {
			return
		}
		line := fmt.Sprintf("%d %s", r.Conn.ID, r.Type())
		if r.Type() == "" {
			line = fmt.Sprintf("%d kind %d of %d bytes", r.Conn.ID, r.Kind, r.Length)
		}
		if r.Missing > 0 {
			line += fmt.Sprintf(" without %d bytes", r.Missing)
		}
		if r.Kind == capture.Message && r.Missing == 0 && !bytes.Equal(r.Payload, bytes.Repeat([]byte("payload!"), len(r.Payload)/8)) {
			line += " with another payload"
		}
		if r.Err != nil {
			line += ": " + r.Err.Error()
		}
		lines = append(lines, line)
	})
	for _, p := range packets {
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
	return lines
}

var bulkStory = []string{"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 PUT", "1 PUT", "1 kind 10 of 0 bytes"}

// TestReordered: packets that are repeated, late or out of order give the same records as packets in
// order.
func TestReordered(t *testing.T) {
	packets := bulk(t)
	shuffled := slices.Clone(packets)
	rng := rand.New(rand.NewPCG(1, 2))
	data := shuffled[5 : len(shuffled)-3]
	rng.Shuffle(len(data), func(i, j int) { data[i], data[j] = data[j], data[i] })
	for i := range shuffled { // all times lie close together, so that no packet is too late
		shuffled[i].Time = packets[0].Time.Add(time.Duration(i) * time.Millisecond)
	}
	var twice []capture.Packet
	for _, p := range packets {
		twice = append(twice, p, p)
	}
	tests := []struct {
		name    string
		packets []capture.Packet
	}{
		{"in order", packets},
		{"each twice", twice},
		{"shuffled", shuffled},
		{"all again at the end", append(slices.Clone(packets), packets...)},
		{"SYN repeated late", slices.Insert(slices.Clone(packets), 8, packets[0])},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tell(tt.packets)
			if diff := cmp.Diff(bulkStory, got[:min(len(got), len(bulkStory))]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLost(t *testing.T) {
	packets := bulk(t)
	without := func(from, to int) []capture.Packet { return slices.Delete(slices.Clone(packets), from, to) }
	const segment = 32 << 10
	tests := []struct {
		name    string
		packets []capture.Packet
		want    []string
	}{
		{"payload", without(10, 11), []string{
			"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 kind 8 of 32768 bytes", "1 PUT without 32768 bytes", "1 PUT", "1 kind 10 of 0 bytes",
		}},
		{"header", without(5, 6), []string{
			"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 kind 8 of 32768 bytes",
			fmt.Sprintf("1 kind 7 of %d bytes: bytes before it are lost", 1<<20+96-segment), "1 PUT", "1 kind 10 of 0 bytes",
		}},
		{"SYN", without(0, 1), bulkStory},
		{"SYN and answer", without(0, 2), bulkStory},
		{"handshake", packets[5:], []string{"1 kind 9 of 0 bytes", "1 PUT", "1 PUT", "1 kind 10 of 0 bytes"}},
		{"inside a payload", packets[7:], []string{
			"1 kind 9 of 0 bytes", fmt.Sprintf("1 kind 7 of %d bytes: %v", 1<<20+96-2*segment, capture.ErrMidStream), "1 PUT", "1 kind 10 of 0 bytes",
		}},
		{"end", packets[:40], []string{
			"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 PUT", fmt.Sprintf("1 PUT without %d bytes: record is cut short", 1<<20+96-2*segment),
			"1 kind 10 of 0 bytes: " + capture.ErrOpenEnd.Error(),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tell(tt.packets)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestPortsAreReused: a SYN on the ports of an earlier connection begins a second one, whether or not the
// first was closed. An open first connection ends with ErrReused.
func TestPortsAreReused(t *testing.T) {
	for _, closed := range []bool{true, false} {
		list := bulkRuns(0)[:2]
		first := recordWrites(t, func(w *capture.Writer) { play(taps(w, 1, true), list, capture.Initiator) })
		if closed {
			first = recordWrites(t, func(w *capture.Writer) {
				flows := taps(w, 1, true)
				play(flows, list, capture.Initiator)
				flows[0].Close()
			})
		}
		second := recordWrites(t, func(w *capture.Writer) {
			w.Flow(netip.MustParseAddrPort("1.1.1.1:1"), netip.MustParseAddrPort("1.1.1.2:2"), true) // so that the connection in second has other TCP sequence numbers than the one in first
			play(taps(w, 1, true), list, capture.Initiator)
		})[3:]
		want := []string{
			"1 ACCEPTOR", "1 HELLO", "1 HELLO", "1 kind 10 of 0 bytes: " + capture.ErrReused.Error(),
			"2 ACCEPTOR", "2 HELLO", "2 HELLO", "2 kind 10 of 0 bytes: " + capture.ErrOpenEnd.Error(),
		}
		if closed {
			want[3] = "1 kind 10 of 0 bytes"
		}
		if diff := cmp.Diff(want, tell(append(first, second...))); diff != "" {
			t.Errorf("closed %v (-want +got):\n%s", closed, diff)
		}
	}
}

// TestCounts: each packet that is not LNet's, or cannot be read, is counted under the reason why it was
// not used.
func TestCounts(t *testing.T) {
	ethernet := func(l ...gopacket.SerializableLayer) []byte {
		b := gopacket.NewSerializeBuffer()
		l = append([]gopacket.SerializableLayer{&layers.Ethernet{
			SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4,
		}}, l...)
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, l...); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	ip := func(p layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, TTL: 1, Protocol: p, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
	}
	fragment := ip(layers.IPProtocolTCP)
	fragment.FragOffset = 100
	tcp := &layers.TCP{SrcPort: 1000, DstPort: 988, ACK: true}
	data := gopacket.Payload("data")
	whole := ethernet(ip(layers.IPProtocolTCP), tcp, data)
	tests := []struct {
		name string
		link capture.LinkType
		data []byte
		want capture.Counts
	}{
		{"without data", capture.LinkEthernet, ethernet(ip(layers.IPProtocolTCP), tcp), capture.Counts{Packets: 1, Stray: 1}},
		{"UDP", capture.LinkEthernet, ethernet(ip(layers.IPProtocolUDP), &layers.UDP{DstPort: 988}, data), capture.Counts{Packets: 1, Other: 1}},
		{"another port", capture.LinkEthernet, ethernet(ip(layers.IPProtocolTCP), &layers.TCP{DstPort: 80}), capture.Counts{Packets: 1, Other: 1}},
		{"fragment", capture.LinkEthernet, ethernet(fragment, data), capture.Counts{Packets: 1, Fragments: 1}},
		{"cut", capture.LinkEthernet, whole[:57], capture.Counts{Packets: 1, Truncated: 1}},
		{"cut in TCP", capture.LinkEthernet, whole[:40], capture.Counts{Packets: 1, Malformed: 1}},
		{"cut in Ethernet", capture.LinkEthernet, whole[:10], capture.Counts{Packets: 1, Malformed: 1}},
		{"empty", capture.LinkRaw, nil, capture.Counts{Packets: 1, Other: 1}},
		{"unknown link type", 999, whole, capture.Counts{Packets: 1, Malformed: 1}},
		{"unknown small link type", 200, whole, capture.Counts{Packets: 1, Malformed: 1}},
		{"raw", capture.LinkRaw, whole[14:], capture.Counts{Packets: 1}},
		{"SLL", capture.LinkLinuxSLL, append(unhex("0000 0001 0006 000000000000 0000 0800"), whole[14:]...), capture.Counts{Packets: 1}},
		{"SLL cut", capture.LinkLinuxSLL, unhex("0000 0001"), capture.Counts{Packets: 1, Malformed: 1}},
		{"SLL2", capture.LinkLinuxSLL2, append(unhex("0800 0000 00000001 0001 00 06 0000000000000000"), whole[14:]...), capture.Counts{Packets: 1}},
		{"SLL2 cut", capture.LinkLinuxSLL2, unhex("0800 0000"), capture.Counts{Packets: 1, Malformed: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
			d.Packet(time.Unix(1, 0), tt.link, tt.data)
			d.Close()
			if diff := cmp.Diff(tt.want, d.Counts()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestManyConnections: if more connections are open than the Dissector keeps, it gives some up, reports
// their end with ErrEvicted, and counts them.
func TestManyConnections(t *testing.T) {
	effort.OneGoroutine(t)
	const n = 20_000
	opened, evicted := 0, 0
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch {
		case r.Kind == capture.Opened:
			opened++
		case r.Err == capture.ErrEvicted:
			evicted++
		}
	})
	packet := recordWrites(t, func(w *capture.Writer) { taps(w, 1, true) })[0]
	for i := range n {
		packet.Data[14], packet.Data[15] = byte(i>>8), byte(i) // the last two bytes of the source address
		d.Packet(packet.Time, packet.Link, packet.Data)
	}
	d.Close()
	if opened != n || evicted == 0 || uint64(evicted) != d.Counts().Evicted {
		t.Errorf("%d opened, %d evicted, %d counted", opened, evicted, d.Counts().Evicted)
	}
}

// TestBoundedMemory: 100 MB pass from a Writer through a Reader to a Dissector, and every hundredth
// packet is lost before the Dissector. The memory of the process grows by no more than 48 MiB.
func TestBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	in, out := io.Pipe()
	go func() {
		w, err := capture.NewWriter(out, time.Now)
		if err != nil {
			out.CloseWithError(err)
			return
		}
		flows := []lnd.Flow{taps(w, 1, true)[0]}
		list := bulkRuns(0)
		play(flows, list[:2], capture.Initiator)
		for range 100 {
			play(flows, list[2:], capture.Initiator)
		}
		out.CloseWithError(w.Close())
	}()
	r, err := capture.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	var messages, lost int
	d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		switch r.Kind {
		case capture.Message:
			messages++
		case capture.Lost:
			lost++
		}
	})
	var total, peak uint64
	var start runtime.MemStats
	runtime.ReadMemStats(&start)
	for i := 0; ; i++ {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		total += uint64(len(p.Data))
		if i%100 == 50 {
			continue
		}
		d.Packet(p.Time, p.Link, p.Data)
		if i%200 == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
		}
	}
	d.Close()
	grown := int64(peak) - int64(start.HeapAlloc)
	if total < 100<<20 || messages < 95 || lost < 30 || grown > 48<<20 {
		t.Errorf("%d MB, %d messages, %d losses, %d MiB of memory", total/1e6, messages, lost, grown>>20)
	}
}

func FuzzDissector(f *testing.F) {
	for _, file := range fuzzFiles {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := capture.NewReader(bytes.NewReader(b))
		if err != nil {
			return
		}
		d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
			_, _ = r.AppendBinary(nil)
			_, _ = r.PingInfo()
			_ = gopacket.NewPacket(r.Raw, r.Layer(), gopacket.NoCopy).ErrorLayer()
		})
		for {
			p, err := r.Next()
			if err != nil {
				break
			}
			d.Packet(p.Time, p.Link, p.Data)
		}
		d.Close()
	})
}

// TestErrorWords: the errors of records have these texts, which lnetdump prints.
func TestErrorWords(t *testing.T) {
	for err, want := range map[error]string{
		capture.ErrCut: "record is cut short", capture.ErrLost: "bytes before it are lost",
		capture.ErrMidStream: "capture begins inside the connection", capture.ErrOpenEnd: "capture ends inside the connection",
		capture.ErrReset: "connection was reset", capture.ErrRejected: "connection was refused",
		capture.ErrReused: "ports were used again", capture.ErrEvicted: "too many open connections",
		capture.ErrICRC: "ICRC is wrong", capture.ErrNoAnswer: "answers nothing that the capture shows",
		capture.ErrSame: "is the other direction of a connection that was found",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
