//go:build linux

package replay_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"ulnet/cmd/lnetd/internal/lnetdtest"
	"ulnet/cmd/lnetd/internal/replay"
	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd"
	"ulnet/lnet/nid"
)

// answer is a kernel node's answer to an opening, with the openings of the recording
// tcp-err-handshake that got this answer.
type answer struct {
	openings []int
	data     []byte
	closed   bool
}

// answers returns the different answers in the recording tcp-err-handshake.
func answers(script *replay.Script) []answer {
	all := make([]answer, len(script.Conns))
	left := make([]bool, len(script.Conns)) // by connection: whether the side that dialled closed it before the other side did
	for _, e := range script.Events {
		a := &all[e.Conn]
		switch {
		case e.Kind == replay.Closed && e.From == replay.Initiator:
			left[e.Conn] = !a.closed
		case e.Kind == replay.Closed && !left[e.Conn]:
			a.closed = true
		case e.Kind == replay.Data && e.From == replay.Acceptor:
			a.data = append(a.data, e.Data...)
		}
	}
	var distinct []answer
next:
	for i, a := range all {
		for j := range distinct {
			if d := &distinct[j]; bytes.Equal(a.data, d.data) && a.closed == d.closed {
				d.openings = append(d.openings, i)
				continue next
			}
		}
		a.openings = []int{i}
		distinct = append(distinct, a)
	}
	return distinct
}

// replayAnswers makes lnetd connect, and answers as a kernel node did in the recording
// tcp-err-handshake. lnetd opens each connection as a kernel does in tcp-ping, and counts every
// answer under the right reason.
func replayAnswers(t *testing.T, commands lnetdtest.Commands) {
	script := load(t, "tcp-err-handshake")
	for _, a := range answers(script) {
		t.Run(fmt.Sprintf("%d bytes,closed=%v,openings=%v", len(a.data), a.closed, a.openings), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, commands, script, replay.Initiator, "tcp")
			pings := s.pings(t, "tcp")
			host := acceptor{listener: s.listen(t), kernel: pingFrom(t, s.nodeAddr)}
			pings.start()
			why, tries := a.outcome()
			for range tries {
				host.answer(t, host.accept(t), a)
			}
			if took, err := pings.wait(); (err == nil) == a.closed || took > atOnce {
				t.Errorf("ping ended with %v after %v", err, took)
			}
			if n := s.daemon.Count(why); a.closed && n != uint64(tries) {
				t.Errorf("%v counts %d, want %d", why, n, tries)
			}
		})
	}
}

// maxRefusals is how many refusals in a row a kernel node accepts before it gives up
// (SOCKNAL_MAX_BUSY_RETRIES).
const maxRefusals = 3

// outcome returns the reason under which lnetd counts an answer, and how many connections it
// opens before the ping ends.
func (a *answer) outcome() (why socklnd.Reason, tries int) {
	switch {
	case !a.closed:
		return socklnd.ReasonNone, 1
	case len(a.data) == 0:
		return socklnd.DialHelloCut, 1
	case replay.IsRefusal(a.data):
		return socklnd.DialRefused, maxRefusals
	}
	return socklnd.DialHelloBad, 1
}

// The records of the first connection of tcp-ping, in order.
const (
	recordRequest = iota
	recordHello
	recordAnswer
	recordGet
	recordReply
)

// pingFrom returns the records of the first connection of tcp-ping, with the given address in place of the
// address of the node that pings.
func pingFrom(t *testing.T, addr netip.Addr) (records []*capture.Record) {
	t.Helper()
	kernel := load(t, "tcp-ping").Records()
	framers := [2]replay.Framer{{Side: replay.Initiator}, {Side: replay.Acceptor}}
	source := func(a netip.Addr) []byte {
		id := nid.FromAddr(nid.MustParseNet("tcp"), a)
		return binary.LittleEndian.AppendUint64(nil, id.Value4())
	}
	from, to := source(kernel.Conns[0].Ends[replay.Initiator].Addr()), source(addr)
	for _, e := range kernel.Events {
		if e.Kind == replay.Data && e.Conn == 0 {
			r, err := framers[e.From].Next(bytes.ReplaceAll(e.Data, from, to))
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, r)
		}
	}
	return records
}

// acceptor is a node that gives prepared answers.
type acceptor struct {
	listener *net.TCPListener
	kernel   []*capture.Record
	replay.Differences
	framer replay.Framer // splits the bytes that the node sends on the present connection
}

// accept waits for a connection and its opening (acceptor request and HELLO).
func (h *acceptor) accept(t *testing.T) *net.TCPConn {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second) // otherwise the test would hang if the node does not connect again
	h.listener.SetDeadline(deadline)
	c, err := h.listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(deadline)
	h.framer = replay.Framer{Side: replay.Initiator}
	h.want(t, c, recordRequest)
	h.want(t, c, recordHello)
	return c
}

// answer sends the answer. If the answer accepts the connection, the node's ping follows.
func (h *acceptor) answer(t *testing.T, c *net.TCPConn, a answer) {
	t.Helper()
	write := func(b []byte) {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	write(a.data)
	if a.closed {
		c.Close()
		return
	}
	h.want(t, c, recordGet)
	write(h.Substitute(h.kernel[recordReply]))
}

// want receives a record and compares it with the kernel's.
func (h *acceptor) want(t *testing.T, c net.Conn, record int) {
	t.Helper()
	b := make([]byte, len(h.kernel[record].Raw))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	got, err := h.framer.Next(b)
	if err == nil {
		err = h.Check(h.kernel[record], got)
	}
	if err != nil {
		t.Errorf("record %d %v", record, err)
	}
}
