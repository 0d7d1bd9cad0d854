package replay_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"ulnet/lnd/o2iblnd/internal/replay"
	"ulnet/lnd/o2iblnd/kib"
	"ulnet/lnd/verbs"
	"ulnet/lnd/verbs/ibta"
	"ulnet/lnd/verbs/softroce"
	"ulnet/lnet/machine"
)

// consumer takes the place of o2iblnd above the device: it does what o2iblnd did on the recorded
// node, with the recorded messages.
type consumer struct {
	t      *testing.T
	script *replay.Script
	node   netip.Addr
	dev    verbs.Device
	pd     verbs.PD
	cq     verbs.CQ
	pool   verbs.Pool
	conns  []verbs.Conn // connections of the node; the last one is in use

	memory  []byte // memory to which the peer writes
	sink    verbs.MR
	written [][]byte // payloads that the peer wrote
	mrs     []verbs.MR
	answers [][]byte // private data that the node's REPs and REJs are to have
	refuses []bool
	want    [][]byte // messages expected from the host
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

// register registers the memory that a message describes.
func (c *consumer) register(m *kib.Msg) {
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

// write posts the RDMA WRITE whose first packet has the index at in the script, together
// with the SEND that follows it. It posts the WRITE in one piece, as a kernel does.
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

// connConfig returns the configuration that o2iblnd would give the connection.
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

// completed compares messages that arrived with the recording.
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

// begin makes the node send the packet at index at.
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
		c.register(p.Msg)
		err = c.conns[len(c.conns)-1].PostSend([]verbs.SendWR{{Op: verbs.Send, Pieces: []verbs.SGE{{Bytes: p.Payload}}, Signaled: true}})
	case p.OpCode.IsWrite() && p.OpCode.IsFirst():
		err = c.write(at)
	}
	if err != nil {
		c.t.Errorf("%v: %v", p, err)
	}
}
