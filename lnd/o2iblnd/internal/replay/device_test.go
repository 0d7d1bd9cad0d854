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
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
)

// consumer stands where o2iblnd stands, above the device: it does what the recorded
// node did there, with the recorded messages.
type consumer struct {
	t      *testing.T
	script *replay.Script
	node   netip.Addr
	dev    verbs.Device
	pd     verbs.PD
	cq     verbs.CQ
	pool   verbs.Pool
	conns  []verbs.Conn // the last one counts

	memory  []byte // that the peer writes to
	sink    verbs.MR
	written [][]byte // by the peer
	mrs     []verbs.MR
	answers [][]byte // private data of the node's REPs and REJs
	refuses []bool
	want    [][]byte // messages of the host
	events  []string
}

func newConsumer(t *testing.T, s *replay.Script, st *replay.Stage) *consumer {
	c := &consumer{t: t, script: s, node: s.Other(st.Player.Host)}
	open := softroce.NewOpener(softroce.Options{Network: st, Numbers: s.Numbers(c.node)})
	var err error
	if c.dev, err = open(verbs.OpenConfig{Addr: c.node, Clock: machine.RealClock()}); err != nil {
		t.Fatal(err)
	}
	if c.pd, err = c.dev.NewPD(); err != nil {
		t.Fatal(err)
	}
	if c.pool, err = c.pd.NewPool(verbs.PoolConfig{Buffers: 64, Size: kib.MaxMsgSize}); err != nil {
		t.Fatal(err)
	}
	if c.cq, err = c.dev.NewCQ(64, c.completed); err != nil {
		t.Fatal(err)
	}
	if _, err := c.dev.Listen(kib.Service, c.requested); err != nil {
		t.Fatal(err)
	}
	for i := range s.Packets {
		p := &s.Packets[i]
		switch own := p.From.Addr() == c.node; {
		case own && p.CM != nil && p.CM.MAD.Attribute == ibta.AttrREP:
			c.answers, c.refuses = append(c.answers, p.CM.REP.Private), append(c.refuses, false)
		case own && p.CM != nil && p.CM.Reject != nil:
			c.answers, c.refuses = append(c.answers, p.CM.REJ.Private), append(c.refuses, true)
		case !own && p.Msg != nil:
			c.want = append(c.want, p.Payload)
		}
	}
	return c
}

func (c *consumer) qp() verbs.QPConfig {
	return verbs.QPConfig{PD: c.pd, Sends: c.cq, Recvs: c.cq, Pool: c.pool, MaxSends: 64}
}

// lend registers the memory that a message describes.
func (c *consumer) lend(m *kib.Msg) {
	if m.Type != kib.PutAck && m.Type != kib.GetReq {
		return
	}
	c.memory = make([]byte, m.Desc.Total())
	var err error
	if c.sink, err = c.pd.Register([][]byte{c.memory}, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		c.t.Fatal(err)
	}
	f := c.sink.Frags(nil)[0]
	if want := m.Desc.Frag(0); c.sink.RKey() != m.Desc.Key || f.Address != want.Address || f.Length != want.Length {
		c.t.Errorf("region %#x, %+v, want %#x, %+v", c.sink.RKey(), f, m.Desc.Key, want)
	}
}

// write posts the RDMA WRITE whose first packet is at a place, in one piece as a
// kernel does, with the SEND that follows it.
func (c *consumer) write(at int) error {
	first := &c.script.Packets[at]
	var data []byte
	var send *replay.Packet
	for i := at; send == nil; i++ {
		p := &c.script.Packets[i]
		switch {
		case p.From != first.From || p.IsAck():
		case p.OpCode.IsWrite():
			data = append(data, p.Payload...)
		default:
			send = p
		}
	}
	mr, err := c.pd.Register([][]byte{data}, verbs.LocalWrite)
	if err != nil {
		return err
	}
	c.mrs = append(c.mrs, mr)
	return c.conns[len(c.conns)-1].PostSend([]verbs.SendWR{
		{
			Op: verbs.Write, Pieces: []verbs.SGE{{Bytes: data, MR: mr}}, RKey: uint32(first.RETH.RKey),
			Remote: verbs.Frag{Address: first.RETH.Address, Length: first.RETH.Length},
		},
		{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: send.Payload}}, Signaled: true},
	})
}

// adopt makes the connection inside which the recording begins.
func (c *consumer) adopt(r replay.Conn, peer netip.Addr) {
	own := 0
	if r.Ends[1] == c.node {
		own = 1
	}
	conn, err := softroce.Adopt(c.dev, softroce.AdoptConfig{
		QP: c.qp(), Peer: peer, QPN: r.QPN[own], DestQP: r.QPN[1-own], SendPSN: r.PSN[own], RecvPSN: r.PSN[1-own],
		MTU: ibta.MTUWithin(r.MTU), RetryCount: 5, RNRRetryCount: 6, MSN: r.MSN[own],
	}, c.event)
	if err != nil {
		c.t.Fatal(err)
	}
	c.conns = append(c.conns, conn)
}

// connConfig is what o2iblnd asks of a connection.
func (c *consumer) connConfig(private []byte) verbs.ConnConfig {
	return verbs.ConnConfig{QP: c.qp(), SrcPort: 1023, RetryCount: 5, RNRRetryCount: 6, Private: private}
}

func (c *consumer) requested(r verbs.Request) {
	if len(c.answers) == 0 {
		c.t.Error("a request that is not recorded")
		return
	}
	private, refuse := c.answers[0], c.refuses[0]
	c.answers, c.refuses = c.answers[1:], c.refuses[1:]
	if refuse {
		if err := r.Reject(private[:kib.RejectSize]); err != nil {
			c.t.Error(err)
		}
		return
	}
	conn, err := r.Accept(c.connConfig(private[:kib.HeaderSize+kib.ParamsSize]), c.event)
	if err != nil {
		c.t.Error(err)
		return
	}
	c.conns = append(c.conns, conn)
}

func (c *consumer) event(_ verbs.Conn, e verbs.Event) {
	text := map[verbs.EventKind]string{
		verbs.Established: "established", verbs.Rejected: "rejected", verbs.Unreachable: "unreachable", verbs.Disconnected: "disconnected",
	}[e.Kind]
	if e.Kind == verbs.Rejected {
		text += fmt.Sprint(" ", e.Reason)
	}
	c.events = append(c.events, text)
}

// completed compares what arrives with the recording.
func (c *consumer) completed(list []verbs.Completion) {
	for i := range list {
		w := &list[i]
		if w.Status != verbs.Success {
			c.t.Errorf("%v: %v", w.Op, w.Status)
		}
		if w.Op != verbs.Receive {
			continue
		}
		if len(c.want) == 0 || !bytes.Equal(w.Buffer.Bytes, c.want[0]) {
			c.t.Errorf("received % x", w.Buffer.Bytes)
		} else {
			c.want = c.want[1:]
		}
		if m, err := kib.ParseMsg(w.Buffer.Bytes); err == nil && c.sink != nil && (m.Type == kib.PutDone || m.Type == kib.GetDone) {
			c.sink.Deregister()
			c.written, c.sink = append(c.written, c.memory), nil
		}
		c.pool.Return(w.Buffer)
	}
}

// begin makes the node send a packet.
func (c *consumer) begin(at int) {
	p := &c.script.Packets[at]
	var err error
	switch {
	case p.CM != nil && p.CM.MAD.Attribute == ibta.AttrREQ:
		var conn verbs.Conn
		_, port, _ := p.CM.REQ.ServiceID.Port()
		cfg := c.connConfig(p.CM.REQ.Private[ibta.IPCMSize:])
		if p.CM.IP != nil {
			cfg.SrcPort = p.CM.IP.SrcPort
		}
		conn, err = c.dev.Connect(netip.AddrPortFrom(p.To.Addr(), port), cfg, c.event)
		c.conns = append(c.conns, conn)
	case p.CM != nil && p.CM.MAD.Attribute == ibta.AttrDREQ:
		c.conns[len(c.conns)-1].Disconnect()
	case p.Msg != nil:
		c.lend(p.Msg)
		err = c.conns[len(c.conns)-1].PostSend([]verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: p.Payload}}, Signaled: true}})
	case p.OpCode.IsWrite() && p.OpCode.IsFirst():
		err = c.write(at)
	}
	if err != nil {
		c.t.Errorf("%v: %v", p, err)
	}
}

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
	} else if err := st.Quiet(400 * time.Millisecond); err != nil { // nothing is sent again before
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

// recordedEvents returns what a node hears of its connections.
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
// is played from the recording as well. With the recorded numbers nothing differs
// that is not listed.
func TestDevice(t *testing.T) {
	const (
		asks, gsi, m     = "ACK timeout", "PSN and AckReq of QP 1", "migration bit"
		rate, transation = "packet rate", "transaction id of a REQ or DREQ"
	)
	want := map[string]map[string]int{
		activePing + kernel.String():      {gsi: 2, m: 3},
		activePing + improvised.String():  {rate: 1, transation: 2},
		passivePing + kernel.String():     {asks: 1, gsi: 2, m: 3, transation: 1},
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

// scenes are the parts of the recording of rejects: first and last frame. The
// improvised peer is another process in each.
// Frame 12 is not there: it has an RDMA-CM header without IP version, which no
// device of ours can be made to send.
var scenes = [][2]int{{2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {14, 22}, {23, 31}}

// TestDeviceRejects replays the recording of rejects. As the kernel the device is one
// life.
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
// the packets that ask for acknowledgements differ.
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
