package node_test

import (
	"strconv"
	"testing"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// sender sends groups of PUTs of 8 bytes to one peer over TCP. Each group begins when the last PUT of the
// one before was acknowledged, so the connection is idle.
type sender struct {
	table *portals.Table
	puts  portals.PutBatchRequest
	left  int // events of the current group that have not come yet
	gone  chan struct{}
}

func (s *sender) event(*portals.Event) {
	if s.left--; s.left == 0 {
		s.gone <- struct{}{}
	}
}

// loop sends a group by calls of Put.
func (s *sender) loop() error {
	s.left = len(s.puts.Puts) + 1
	for i := range s.puts.Puts {
		p := s.puts.Puts[i]
		p.MD = s.puts.MD
		if err := s.table.Put(p); err != nil {
			return err
		}
	}
	<-s.gone
	return nil
}

// batch sends a group by one call of PutBatch.
func (s *sender) batch(one bool) error {
	s.puts.OneSend, s.left = one, len(s.puts.Puts)+1
	if one {
		s.left = 2
	}
	if err := s.table.PutBatch(s.puts); err != nil {
		return err
	}
	<-s.gone
	return nil
}

func newSender(b *testing.B, n int) *sender {
	port := freePort()
	tunables := lnd.Tunables{PeerCredits: 256, Credits: 256}
	from := start(b, node.Config{Networks: "tcp(127.0.83.11)", AcceptPort: port, Tunables: tunables})
	to := start(b, node.Config{Networks: "tcp(127.0.83.12)", AcceptPort: port, Tunables: tunables})
	me, err := to.Table().MEAttach(9, portals.Match{}, portals.Retain, portals.After)
	if err != nil {
		b.Fatal(err)
	}
	sink := portals.MD{Segments: memory(8), Threshold: portals.ThresholdInfinite, Options: portals.OpPut | portals.ManageRemote}
	if _, err := to.Table().MDAttach(me, sink, portals.Retain); err != nil {
		b.Fatal(err)
	}
	s := &sender{table: from.Table(), gone: make(chan struct{}, 1)}
	source := portals.MD{Segments: memory(8), Threshold: portals.ThresholdInfinite, Handler: s.event}
	if s.puts.MD, err = s.table.MDBind(source, portals.Retain); err != nil {
		b.Fatal(err)
	}
	target := nid.ProcessID{NID: to.NIDs()[0], PID: nid.LustrePID}
	for range n {
		s.puts.Puts = append(s.puts.Puts, portals.PutRequest{Target: target, Portal: 9})
	}
	s.puts.Puts[n-1].Ack = true
	for range 100 { // enough messages for the driver to open all its connections to the peer
		if err := s.loop(); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkSend is what a PUT of 8 bytes in a group costs both nodes, including the system calls and the
// PUT's share of the group's ACK.
func BenchmarkSend(b *testing.B) {
	for _, n := range []int{1, 16} {
		s := newSender(b, n)
		for _, c := range []struct {
			name string
			send func() error
		}{
			{"Put", s.loop},
			{"PutBatch", func() error { return s.batch(false) }},
			{"PutBatch with OneSend", func() error { return s.batch(true) }},
		} {
			b.Run(c.name+" of "+strconv.Itoa(n), func(b *testing.B) {
				b.ReportAllocs()
				began := processorTime(b)
				for b.Loop() {
					if err := c.send(); err != nil {
						b.Fatal(err)
					}
				}
				puts := float64(b.N * n)
				b.ReportMetric(float64(b.Elapsed())/puts, "ns/PUT")
				b.ReportMetric(float64(processorTime(b)-began)/puts, "cpu-ns/PUT")
			})
		}
	}
}
