package replay_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs/ibta"
)

// replayDevice replays a script against a device, and returns the differences.
func replayDevice(t *testing.T, s *replay.Script, host netip.Addr, single bool) *replay.Player {
	t.Helper()
	st := replay.NewStage(s, host)
	st.Single = single
	st.Player.Also = replay.OlderAndImprovised
	c := newConsumer(t, s, st)
	for _, conn := range s.Conns() {
		if conn.Adopted {
			c.adopt(conn, host)
		}
	}
	st.Player.Begin = c.begin
	st.Player.Prepare()
	if err := st.Run(); err != nil {
		t.Error(err)
	} else if err := st.Quiet(400 * time.Millisecond); err != nil { // shorter than any time until a retransmission
		t.Error(err)
	}
	if len(c.want) > 0 {
		t.Errorf("%d messages did not arrive", len(c.want))
	}
	if st.Player.Repeated > 0 {
		t.Errorf("%d packets were repeated", st.Player.Repeated)
	}
	for i, d := range large(s, c.node) {
		if i >= len(c.written) || !bytes.Equal(c.written[i], d.Payload) {
			t.Errorf("transfer %d is not in memory", i)
		}
	}
	if diff := cmp.Diff(recordedEvents(s, c.node), c.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	st.Clear()
	c.close()
	return st.Player
}

// large returns the messages that reach a node by RDMA.
func large(s *replay.Script, node netip.Addr) []replay.Delivery {
	return slices.DeleteFunc(s.Deliveries(node), func(d replay.Delivery) bool { return len(d.Payload) <= kib.MaxImmediate })
}

func (c *consumer) close() {
	for _, conn := range c.conns {
		conn.Close()
	}
	for _, mr := range c.mrs {
		mr.Deregister()
	}
	if err := c.dev.Close(); err != nil {
		c.t.Error(err)
	}
}

// recordedEvents returns the events of connections that a node gets.
func recordedEvents(s *replay.Script, node netip.Addr) (list []string) {
	for i := range s.Packets {
		p := &s.Packets[i]
		if p.CM == nil {
			continue
		}
		own := p.From.Addr() == node
		switch kind := p.CM.MAD.Attribute; {
		case kind == ibta.AttrREP && !own, kind == ibta.AttrRTU && !own:
			list = append(list, "established")
		case kind == ibta.AttrREJ && !own:
			list = append(list, fmt.Sprint("rejected ", uint16(p.CM.REJ.Reason)))
		case kind == ibta.AttrDREQ && len(list) > 0:
			list = append(list, "disconnected")
		}
	}
	return list
}

// TestDevice replays the recordings of pings against the device alone: o2iblnd's part
// is played from the recording as well. The device uses the recorded numbers. Then nothing
// differs except what the test lists.
func TestDevice(t *testing.T) {
	const (
		asks, gsi, m      = "ACK timeout", "PSN and AckReq of QP 1", "migration bit"
		rate, transaction = "packet rate", "transaction id of a REQ or DREQ"
	)
	want := map[string]map[string]int{
		activePing + kernel.String():      {gsi: 2, m: 3},
		activePing + improvised.String():  {rate: 1, transaction: 2},
		passivePing + kernel.String():     {asks: 1, gsi: 2, m: 3, transaction: 1},
		passivePing + improvised.String(): {},
	}
	for _, file := range []string{activePing, passivePing} {
		roles(t, file, func(t *testing.T, s *replay.Script, host netip.Addr) {
			p := replayDevice(t, s, host, false)
			if diff := cmp.Diff(want[file+s.Other(host).String()], p.Seen); diff != "" {
				t.Errorf("differences (-want +got)\n%s", diff)
			}
		})
	}
}

// scenes has the first and the last frame of each part of the recording of rejects. In each part
// the improvised peer is another process.
// Frame 12 is in no part: it has an RDMA-CM header without IP version, which no
// device of ours can be made to send.
var scenes = [][2]int{{2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {14, 22}, {23, 31}}

// TestDeviceRejects replays the recording of rejects against the device, once in place of the kernel and
// once in place of the improvised peer: the device must send what that node sent. Like the kernel, the
// device has one incarnation in the whole test.
func TestDeviceRejects(t *testing.T) {
	whole := load(t, rejects)
	t.Run("we are the kernel", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { replayDevice(t, whole.Cut(2, 31), improvised, true) })
	})
	for _, scene := range scenes {
		t.Run(fmt.Sprintf("we are improvised, frame %d", scene[0]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replayDevice(t, whole.Cut(scene[0], scene[1]), kernel, false) })
		})
	}
}

// TestDeviceBulk replays the transfers of two kernels against the device, in both
// roles: 1 MiB and 64 KiB by RDMA WRITE, each posted in one piece as kernels do. Only
// the choice of packets that request RoCE ACKs differs.
func TestDeviceBulk(t *testing.T) {
	roles(t, bulk, func(t *testing.T, s *replay.Script, host netip.Addr) {
		for _, single := range []bool{false, true} {
			p := replayDevice(t, s, host, single)
			t.Log(p.Seen, p.OwnAcks)
			for what := range p.Seen {
				if what != "AckReq inside a message" && what != "migration bit" {
					t.Errorf("%d packets differ: %s", p.Seen[what], what)
				}
			}
		}
	})
}

// roles calls f for both nodes of a recording.
func roles(t *testing.T, file string, f func(t *testing.T, s *replay.Script, host netip.Addr)) {
	s := load(t, file)
	for _, host := range s.Hosts() {
		t.Run(fmt.Sprintf("%s/we are %v", filepath.Base(file), s.Other(host)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, s, host) })
		})
	}
}
